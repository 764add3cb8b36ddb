// Resolves a path as another process sees it: relative to that process's working folder or descriptor, with its own
// /proc/self.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

namespace cudadiag::launch {

struct SeenPath {
  std::filesystem::path path;  // absolute; only the last element may be a link
  bool is_file = true;         // false for a pipe, a socket or memory, which have no folder
  bool reachable = false;      // the folder that contains it exists
  bool exists = false;
};

// `folder` is a descriptor of that process, or AT_FDCWD. If `follows`, a link at the end is followed too.
SeenPath see_path(pid_t process, int folder, const std::string& path, bool follows);

// Returns the file that this descriptor of that process refers to.
SeenPath see_descriptor(pid_t process, int descriptor);

}  // namespace cudadiag::launch
