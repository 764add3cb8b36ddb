#include "launch/command_path.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace cudadiag::launch {
namespace {

int executable_error(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return errno == EACCES ? EACCES : ENOENT;
  if (!S_ISREG(status.st_mode) || ::access(path.c_str(), X_OK) != 0) return EACCES;
  return 0;
}

}  // namespace

CommandPath find_command(const std::string& name, const std::string& folder) {
  if (name.empty()) return {"", ENOENT};
  if (name.find('/') != std::string::npos) {
    const std::string path = (std::filesystem::path(folder) / name).string();
    const int error = executable_error(path);
    return {error == 0 ? path : "", error};
  }
  const char* variable = std::getenv("PATH");
  std::string_view rest = variable == nullptr ? "/usr/local/bin:/usr/bin:/bin" : variable;
  int error = ENOENT;
  while (true) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string searched(rest.substr(0, end));
    const std::string path = (searched.empty() ? "." : searched) + "/" + name;
    const int found = executable_error(path);
    if (found == 0) return {path, 0};
    if (found == EACCES) error = EACCES;
    if (end == rest.size()) return {"", error};
    rest.remove_prefix(end + 1);
  }
}

}  // namespace cudadiag::launch
