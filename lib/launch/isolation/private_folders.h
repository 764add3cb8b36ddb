// The private folders of an isolated rerun: for temporary files, and copies of caches. Owns the folders, of mode 0700;
// they go with this object. Errors are values.
#pragma once

#include <filesystem>
#include <vector>

#include "launch/environment.h"
#include "session/session.h"

namespace cudadiag::launch {

class PrivateFolders {
 public:
  // Below `place` where names of sockets there stay short enough, else in the temporary folder. Copies of the caches,
  // of 512 MiB and 20,000 files in all at most: a larger cache is left out.
  static base::Result<PrivateFolders> make(const std::filesystem::path& place);
  PrivateFolders(PrivateFolders&& other) noexcept;
  PrivateFolders& operator=(PrivateFolders&&) = delete;
  ~PrivateFolders();

  const std::filesystem::path& root() const { return root_; }
  // They name the folders to the rerun.
  const std::vector<Variable>& variables() const { return variables_; }

 private:
  explicit PrivateFolders(std::filesystem::path root) : root_(std::move(root)) {}
  void add_temporary();
  void add_caches();

  std::filesystem::path root_;
  std::vector<Variable> variables_;
};

}  // namespace cudadiag::launch
