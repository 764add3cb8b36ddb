// Resolves a path as a thread of another process sees it, and reads the thread's memory. The path is relative to that
// thread's working folder or descriptor, and /proc/self refers to that thread's process, however the path spells it.
// Opens nothing but handles (O_PATH), mounts nothing, and asks file servers only for names that their caches lack.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/files.h"

namespace cudadiag::launch {

struct SeenPath {
  std::filesystem::path path;  // absolute; only the last element may be a link
  base::FileDescriptor file;   // a handle for the file (O_PATH), if it exists in a folder
  struct statx status {};      // of `file`
  bool is_file = true;         // false for a pipe, a socket or a memory file, which are in no folder
  bool reachable = false;      // the parent folder exists
  bool exists = false;
  int error = 0;  // an errno if the path cannot be checked: refuse the call

  bool has_type(mode_t type) const { return exists && (status.stx_mode & S_IFMT) == type; }
};

// `folder` is a descriptor of `thread`, or AT_FDCWD. If `follows` is true, or if the path ends in a slash, follows a
// link at the end of the path.
SeenPath see_path(pid_t thread, int folder, const std::string& path, bool follows);

// Returns the file that `descriptor` of `thread` refers to.
SeenPath see_descriptor(pid_t thread, int descriptor);

// Identifies a file. A name may be given to another file later, and so may the number of an inode.
using FileIdentity = std::array<std::uint64_t, 4>;
FileIdentity identity_of(const struct statx& status);

// Returns the rest of the line of /proc/THREAD/status that begins with `name`; "" if there is none.
std::string status_line(pid_t thread, std::string_view name);

// Reads the memory of another process. Returns false if any part of the memory cannot be read.
bool read_memory(pid_t thread, std::uint64_t address, void* into, std::size_t bytes);

// Reads NUL-terminated text. Returns nullopt if the text is longer than a page or cannot be read.
std::optional<std::string> read_text(pid_t thread, std::uint64_t address);

}  // namespace cudadiag::launch
