// The private folders of an isolated rerun, for temporary files and for copies of caches. Owns the folders, which have
// mode 0700, and removes them on destruction. Errors are values.
#pragma once

#include <filesystem>
#include <vector>

#include "launch/environment.h"
#include "session/session.h"

namespace cudadiag::launch {

class PrivateFolders {
 public:
  // Creates them below `place` if the names of sockets stay short enough there, else in the temporary folder. Copies
  // the caches, at most 512 MiB and 20,000 files in total. Leaves out a cache that is too large.
  static base::Result<PrivateFolders> make(const std::filesystem::path& place);
  PrivateFolders(PrivateFolders&& other) noexcept;
  PrivateFolders& operator=(PrivateFolders&&) = delete;
  ~PrivateFolders();

  const std::filesystem::path& root() const { return root_; }
  // The variables that name the folders to the rerun.
  const std::vector<Variable>& variables() const { return variables_; }

 private:
  explicit PrivateFolders(std::filesystem::path root) : root_(std::move(root)) {}
  void add_temporary();
  void add_caches();

  std::filesystem::path root_;
  std::vector<Variable> variables_;
};

}  // namespace cudadiag::launch
