#include "session/root_exposure.h"

#include <sys/stat.h>
#include <unistd.h>

namespace cudadiag::session {

std::string exposure_of(int root, const std::filesystem::path& folder) {
  constexpr const char* kAnother = "choose a folder that only you can write to with -o FOLDER or CUDADIAG_DIR";
  struct stat status {};
  if (::fstat(root, &status) != 0) return "";
  const bool foreign = status.st_uid != 0 && status.st_uid != ::geteuid();
  const bool open = (status.st_mode & S_IWOTH) != 0 && (status.st_mode & S_ISVTX) == 0;
  if (foreign) {
    return folder.string() + " belongs to another user (uid " + std::to_string(status.st_uid) +
           "), who can replace a session while it is being written; " + kAnother;
  }
  if (!open) return "";
  const std::string remedy = status.st_uid == ::geteuid() ? "run chmod o-w " + folder.string() + ", or " : "";
  return "all users can write to " + folder.string() + " and replace a session while it is being written; " + remedy +
         kAnother;
}

}  // namespace cudadiag::session
