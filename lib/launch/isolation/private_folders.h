// Creates and owns the private folders of an isolated rerun without overlays, for temporary files and copies of caches.
// The folders have mode 0700, and are removed on destruction. They are filled and removed through the descriptor of the
// folder that was made, because another user may be able to replace parts of its path.
#pragma once

#include <filesystem>
#include <vector>

#include "base/files.h"
#include "launch/environment.h"
#include "session/session.h"

namespace cudadiag::launch {

class PrivateFolders {
 public:
  // Creates the folders below `place`, which is open as `folder`, or in the temporary folder if socket paths below
  // `place` would be too long. Copies the user's caches, up to 512 MiB and 20,000 files in total. Skips a cache that
  // does not fit.
  static base::Result<PrivateFolders> make(const std::filesystem::path& place, const base::FileDescriptor& folder);
  PrivateFolders(PrivateFolders&& other) noexcept = default;
  PrivateFolders& operator=(PrivateFolders&&) = delete;
  ~PrivateFolders();

  const std::filesystem::path& root() const { return root_; }
  const base::FileDescriptor& opened() const { return opened_; }
  // Returns the environment variables that redirect the rerun to the folders.
  const std::vector<Variable>& variables() const { return variables_; }

 private:
  PrivateFolders(std::filesystem::path root, base::FileDescriptor opened)
      : root_(std::move(root)), opened_(std::move(opened)) {}
  static base::Result<PrivateFolders> make_in(const std::filesystem::path& place);
  static base::Result<PrivateFolders> of(base::FileDescriptor opened);
  void add_temporary();
  void add_caches();

  std::filesystem::path root_;
  base::FileDescriptor opened_;
  std::vector<Variable> variables_;
};

// Returns the folders of the user's caches, which may not exist: those that are copied, and ~/.cache.
std::vector<std::filesystem::path> cache_folders();

}  // namespace cudadiag::launch
