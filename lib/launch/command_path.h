// Finds the file that a command name refers to, as a shell does.
#pragma once

#include <string>

namespace cudadiag::launch {

struct CommandPath {
  std::string path;  // empty if no executable file was found
  int error = 0;     // ENOENT or EACCES if `path` is empty
};

CommandPath find_command(const std::string& name);

}  // namespace cudadiag::launch
