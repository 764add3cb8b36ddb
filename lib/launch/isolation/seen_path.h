// A path as another process sees it: from its working folder or descriptor, with its own /proc/self, links followed.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

namespace cudadiag::launch {

struct SeenPath {
  std::filesystem::path path;  // absolute, without links but maybe the last element
  bool is_file = true;         // false: a pipe, a socket or memory, that no folder holds
  bool reachable = false;      // its folder exists
  bool exists = false;
};

// `folder`: a descriptor of that process, or AT_FDCWD. `follows`: a link at the end too.
SeenPath see_path(pid_t process, int folder, const std::string& path, bool follows);

// The file that a descriptor of that process was opened for.
SeenPath see_descriptor(pid_t process, int descriptor);

}  // namespace cudadiag::launch
