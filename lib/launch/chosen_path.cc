#include "launch/chosen_path.h"

#include <sys/stat.h>
#include <unistd.h>

#include <system_error>

namespace cudadiag::launch {
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
