// Finds the file that a command name refers to, as a shell does.
#pragma once

#include <string>

namespace cudadiag::launch {

struct CommandPath {
  std::string path;  // empty if no executable file was found
  int error = 0;     // ENOENT or EACCES if `path` is empty
};

// Resolves a relative path from `folder`; from the working folder if it is empty.
CommandPath find_command(const std::string& name, const std::string& folder = "");

}  // namespace cudadiag::launch
