// Creates and owns an isolated rerun's private folders, for temporary files and copies of caches. The folders have mode
// 0700, and are removed on destruction.
#pragma once

#include <filesystem>
#include <vector>

#include "launch/environment.h"
#include "session/session.h"

namespace cudadiag::launch {

class PrivateFolders {
 public:
  // Creates the folders below `place`, or in the temporary folder if socket paths below `place` would be too long.
  // Copies the user's caches, up to 512 MiB and 20,000 files in total. Skips a cache that does not fit.
  static base::Result<PrivateFolders> make(const std::filesystem::path& place);
  PrivateFolders(PrivateFolders&& other) noexcept;
  PrivateFolders& operator=(PrivateFolders&&) = delete;
  ~PrivateFolders();

  const std::filesystem::path& root() const { return root_; }
  // Returns the environment variables that redirect the rerun to the folders.
  const std::vector<Variable>& variables() const { return variables_; }

 private:
  explicit PrivateFolders(std::filesystem::path root) : root_(std::move(root)) {}
  void add_temporary();
  void add_caches();

  std::filesystem::path root_;
  std::vector<Variable> variables_;
};

}  // namespace cudadiag::launch
