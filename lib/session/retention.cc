#include "session/retention.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <system_error>

#include "base/file_descriptor.h"
#include "base/plain_folder.h"
#include "session/processes.h"
#include "session/session_files.h"
#include "session/session_folders.h"
#include "session/session_reader.h"

namespace cudadiag::session {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;

constexpr std::chrono::seconds kUnusedFor = hours(24);
// A process on a different machine is considered gone if its files have not been written for this long. cudadiag can
// see nothing of the process except its files.
constexpr std::chrono::seconds kUnseenFor = hours(24);

// Returns the space that the folder takes on disk. Areas are sparse, so the sizes of their files are too large.
std::uintmax_t bytes_on_disk(const fs::path& folder) {
  std::uintmax_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    struct stat status {};
    if (::lstat(it->path().c_str(), &status) == 0) bytes += static_cast<std::uintmax_t>(status.st_blocks) * 512;
  }
  return bytes;
}

bool written_since(const fs::path& path, std::chrono::seconds ago) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && status.st_mtim.tv_sec > std::time(nullptr) - ago.count();
}

// Returns whether a process without a launcher may still be recording to the folder. Unlike a launcher, such a process
// does not lock the folder.
bool is_recorded_to(const fs::path& folder) {
  if (!folder.filename().string().ends_with(kIncomplete)) return false;
  Session session;
  const std::vector<fs::path> areas = areas_in(folder / kRecordFolder);
  if (areas.size() > kMostAreas) return true;  // the process may have any of them, and reading all takes too long
  read_areas(areas, session, session.processes);
  const auto may_live = [&](const Process& process) {
    const auto recent = [](const fs::path& area) { return written_since(area, kUnseenFor); };
    return lives(folder, process.record).value_or(std::any_of(areas.begin(), areas.end(), recent));
  };
  return std::any_of(session.processes.begin(), session.processes.end(), may_live);
}

void remove_if_unused(const fs::path& folder) {
  if (is_only_prepared(folder) && !written_since(folder, kUnusedFor)) remove_session(folder);
}

}  // namespace

bool keep(const fs::path& session) {
  const base::FileDescriptor mark(
      ::open((session / kKept).c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
  return mark.valid();
}

bool unkeep(const fs::path& session) {
  const base::FileDescriptor folder = base::open_plain_folder(AT_FDCWD, session.c_str());
  return folder.valid() && (::unlinkat(folder.get(), kKept, 0) == 0 || errno == ENOENT);
}

bool is_kept(const fs::path& session) {
  struct stat status {};
  return ::lstat((session / kKept).c_str(), &status) == 0;
}

std::vector<std::string> retain(const fs::path& root, const fs::path& newest, const Retention& keep) {
  // The newest session counts as one of the sessions to keep, but its size does not count towards the limit on bytes.
  std::size_t sessions = 1;
  std::vector<std::string> removed;
  std::uintmax_t bytes = 0;
  for (const fs::path& folder : sessions_in(root)) {
    if (folder == newest || is_being_written(folder) || is_kept(folder)) continue;
    if (is_blank(folder)) {
      remove_if_unused(folder);
      continue;
    }
    const std::uintmax_t size = bytes_on_disk(folder);
    if (sessions < keep.sessions && bytes + size <= keep.bytes) {
      ++sessions;
      bytes += size;
    } else if (has_own_content(folder) && !is_recorded_to(folder)) {
      remove_session(folder);
      removed.push_back(folder.filename().string());
    }
  }
  return removed;
}

}  // namespace cudadiag::session
