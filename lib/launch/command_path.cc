#include "launch/command_path.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

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

namespace {

namespace fs = std::filesystem;

bool is_trusted(const struct stat& status, uid_t also) {
  const bool owned = status.st_uid == 0 || status.st_uid == ::geteuid() || status.st_uid == also;
  const bool is_sticky_folder = S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0;
  return owned && ((status.st_mode & S_IWOTH) == 0 || is_sticky_folder);
}

}  // namespace

bool only_trusted_can_write(const fs::path& file, uid_t also) {
  std::error_code error;
  const fs::path real = fs::canonical(file, error);
  if (error) return false;
  for (fs::path part = real;; part = part.parent_path()) {
    struct stat status {};
    if (::stat(part.c_str(), &status) != 0 || !is_trusted(status, also)) return false;
    if (part == part.root_path()) return true;
  }
}

}  // namespace cudadiag::launch
