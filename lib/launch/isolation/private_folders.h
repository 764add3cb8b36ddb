// The private folders of an isolated rerun, for temporary files and for copies of caches. Owns the folders, which have
// mode 0700, and removes them on destruction.
#pragma once

#include <filesystem>
#include <vector>

#include "launch/environment.h"
#include "session/session.h"

namespace cudadiag::launch {

class PrivateFolders {
 public:
  // Creates the folders below `place` if socket paths stay short enough there, otherwise in the temporary folder.
  // Copies caches of at most 512 MiB and 20,000 files in total, and skips caches that are too large.
  static base::Result<PrivateFolders> make(const std::filesystem::path& place);
  PrivateFolders(PrivateFolders&& other) noexcept;
  PrivateFolders& operator=(PrivateFolders&&) = delete;
  ~PrivateFolders();

  const std::filesystem::path& root() const { return root_; }
  // Returns the environment variables that make the rerun use the folders.
  const std::vector<Variable>& variables() const { return variables_; }

 private:
  explicit PrivateFolders(std::filesystem::path root) : root_(std::move(root)) {}
  void add_temporary();
  void add_caches();

  std::filesystem::path root_;
  std::vector<Variable> variables_;
};

}  // namespace cudadiag::launch
