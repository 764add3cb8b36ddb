// Finds the file that a command name refers to, as a shell does, and checks whether it may be trusted.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

namespace cudadiag::launch {

struct CommandPath {
  std::string path;  // empty if no executable file was found
  int error = 0;     // ENOENT or EACCES if `path` is empty
};

// Resolves a relative path from `folder`; from the working folder if it is empty.
CommandPath find_command(const std::string& name, const std::string& folder = "");

// A file from which cudadiag runs code, and that the user did not choose, must come from the user, root, or the owner of
// the program that the user runs. Returns true if no untrusted user can write to the file or to any folder above it. Each of these must be owned by
// this process's effective user, root or `also`. A folder that others can write to is accepted only if it is sticky,
// like /tmp: nobody can replace another user's entries in it. Symbolic links are resolved first. Returns false if any
// part of the path cannot be inspected.
bool only_trusted_can_write(const std::filesystem::path& file, uid_t also);

}  // namespace cudadiag::launch
