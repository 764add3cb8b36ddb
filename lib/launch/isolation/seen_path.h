// Resolves a path as another process sees it.
// The path is relative to that process's working folder or descriptor, and /proc/self refers to that process.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

namespace cudadiag::launch {

struct SeenPath {
  std::filesystem::path path;  // absolute; only the last element may be a link
  bool is_file = true;         // false for a pipe, a socket or a memory file, which are in no folder
  bool reachable = false;      // the parent folder exists
  bool exists = false;
};

// `folder` is a descriptor of `process`, or AT_FDCWD. If `follows` is true, follows a link at the end of the path.
SeenPath see_path(pid_t process, int folder, const std::string& path, bool follows);

// Returns the file that `descriptor` of `process` refers to.
SeenPath see_descriptor(pid_t process, int descriptor);

}  // namespace cudadiag::launch
