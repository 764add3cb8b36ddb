// Finds the file that a command names, as a shell does.
#pragma once

#include <string>

namespace cudadiag::launch {

struct CommandPath {
  std::string path;  // empty if there is none that can be executed
  int error = 0;     // ENOENT or EACCES then
};

CommandPath find_command(const std::string& name);

}  // namespace cudadiag::launch
