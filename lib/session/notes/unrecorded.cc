#include "session/notes/unrecorded.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/plain_folder.h"
#include "session/session_reader.h"
#include "session/session_writer.h"
#include "wire/area.h"

namespace cudadiag::session {
namespace {

using wire::unrecorded::What;

constexpr const char* kAnotherFolder = "choose a folder for it with -o FOLDER or CUDADIAG_DIR";

}  // namespace

Unrecorded unrecorded_in(const std::filesystem::path& pass_folder) {
  Unrecorded found;
  for (const std::filesystem::path& file : base::entries_of(pass_folder)) {
    unsigned pid = 0, what = 0, number = 0;
    const std::filesystem::path name = file.filename();
    if (name.extension() != wire::unrecorded::kExtension) continue;
    if (std::sscanf(name.c_str(), "%9u-%9u-%9u", &pid, &what, &number) != 3) continue;
    ++found.processes;
    found.what = static_cast<What>(what);
    found.error = static_cast<int>(number);
  }
  return found;
}

base::Error nothing_recorded_of(const Unrecorded& unrecorded) {
  const std::string whom =
      unrecorded.processes == 1
          ? "a process that initialised CUDA: "
          : std::to_string(unrecorded.processes) + " processes that initialised CUDA; the reason for one of them: ";
  const std::string what = "nothing was recorded for " + whom;
  const std::string reason = std::strerror(unrecorded.error);
  switch (unrecorded.what) {
    case What::address_space:
      return {what + "the limit on its address space leaves too little room for the 64 MB recording",
              "raise the limit (ulimit -v)"};
    case What::data:
      return {what + "the limit on its memory leaves too little room for the recorder's own memory",
              "raise the limit (ulimit -d)"};
    case What::memory:
      return {what + "memory for the recording could not be mapped (" + reason + ")",
              "raise its memory limits (ulimit -v)"};
    case What::file:
      if (unrecorded.error == EFBIG) {
        return {what + "its file size limit leaves no room for the 64 MB recording", "raise the limit (ulimit -f)"};
      }
      if (is_for_lack_of_room(unrecorded.error)) {
        return {what + "the disk had no room for the 64 MB recording and as much for the program (" + reason + ")",
                std::string("free some space, or ") + kAnotherFolder};
      }
      return {what + "no file could be created for the recording (" + reason + ")", kAnotherFolder};
    default:
      return {what + "the recorder could not start in it (" + reason + ")", "run the program again"};
  }
}

std::optional<std::string> obstacle_to_recording(const std::filesystem::path& session) {
  const std::filesystem::path folder = session / kRecordFolder;
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    return folder.string() + " is not writable: " + std::strerror(errno);
  }
  struct statvfs disk {};
  if (::statvfs(folder.c_str(), &disk) != 0 || disk.f_bavail * disk.f_frsize >= 2 * wire::area::kAreaSize)
    return std::nullopt;
  return folder.string() + " is on a disk without room for the 64 MB recording and as much for the program";
}

std::string why_unused(const std::filesystem::path& session) {
  const auto obstacle = obstacle_to_recording(session);
  return obstacle
             ? "nothing was recorded with the environment that cudadiag env printed, and nothing can be recorded: " +
                   *obstacle
             : kNothingYet;
}

std::optional<std::filesystem::path> newest_unused(const std::vector<Root>& roots) {
  for (const std::filesystem::path& session : sessions_in(roots)) {
    if (is_unused(session)) return session;
  }
  return std::nullopt;
}

}  // namespace cudadiag::session
