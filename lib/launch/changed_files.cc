#include "launch/changed_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "session/session_folders.h"

namespace cudadiag::launch {
namespace {

namespace fs = std::filesystem;

bool is_cache(std::string_view name) {
  constexpr std::string_view kCaches[] = {"__pycache__", ".git", ".pytest_cache", ".benchmarks",
                                          ".mypy_cache", ".nv",  ".triton"};
  return std::find(std::begin(kCaches), std::end(kCaches), name) != std::end(kCaches);
}

bool is_own_output(const struct stat& status) {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    struct stat own {};
    if (::fstat(number, &own) == 0 && own.st_dev == status.st_dev && own.st_ino == status.st_ino) return true;
  }
  return false;
}

using FileId = std::pair<dev_t, ino_t>;

// Regular files that processes hold open for writing, as far as we may look into them.
std::set<FileId> being_written() {
  std::set<FileId> files;
  std::error_code error;
  for (fs::directory_iterator process("/proc", error), end; !error && process != end; process.increment(error)) {
    const std::string name = process->path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::error_code denied;
    for (fs::directory_iterator file(process->path() / "fd", denied), last; !denied && file != last;
         file.increment(denied)) {
      struct stat link {
      }, status{};
      // The link's own mode says how the file was opened.
      const bool writes = ::lstat(file->path().c_str(), &link) == 0 && (link.st_mode & S_IWUSR) != 0;
      if (writes && ::stat(file->path().c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
        files.emplace(status.st_dev, status.st_ino);
      }
    }
  }
  return files;
}

std::int64_t nanoseconds(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

// Who copies a file may give the copy the time of the original; when that was done nobody can set.
std::int64_t written_at(const struct stat& status) {
  return std::max(nanoseconds(status.st_mtim), nanoseconds(status.st_ctim));
}

// False also where the file system does not know when an entry was made.
bool made_since(const fs::path& path, std::int64_t time) {
  struct statx more {};
  return ::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BTIME, &more) == 0 &&
         (more.stx_mask & STATX_BTIME) != 0 && more.stx_btime.tv_sec * 1'000'000'000 + more.stx_btime.tv_nsec >= time;
}

std::int64_t time_of(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return nanoseconds(now);
}

std::int64_t next_file_time() {
  using std::chrono::steady_clock;
  // Somebody may set the clock back meanwhile.
  const auto patience = steady_clock::now() + std::chrono::milliseconds(50);
  // Linux 6.13 and later stamp some files by the precise clock, and all of them by the coarse one or later.
  const std::int64_t precise = time_of(CLOCK_REALTIME);
  std::int64_t coarse = time_of(CLOCK_REALTIME_COARSE);
  while (coarse <= precise && steady_clock::now() < patience) {
    std::this_thread::sleep_for(std::chrono::microseconds(500));
    coarse = time_of(CLOCK_REALTIME_COARSE);
  }
  return coarse;
}

}  // namespace

FolderBefore look_at_folder(const fs::path& folder) {
  FolderBefore before{next_file_time(), {}};
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (before.names.size() == kMostEntries) break;
    before.names.push_back(it->path().filename().string());
  }
  return before;
}

FileChanges changed_files(const FileSearch& search) {
  std::error_code error;
  std::vector<fs::path> except;
  for (const fs::path& path : search.except) except.push_back(fs::weakly_canonical(path, error));
  const auto is_excepted = [&](const fs::path& path) {
    return std::find(except.begin(), except.end(), path) != except.end();
  };
  const fs::path folder = fs::canonical(search.folder, error);
  struct stat root {};
  ::stat(folder.c_str(), &root);
  // In a folder like /tmp anybody's entries come and go.
  const bool is_shared = (root.st_mode & S_ISVTX) != 0;
  for (const std::string& name : search.before.names) {
    const bool counts = !is_shared && !is_cache(name) && !session::is_session_name(name) && !is_excepted(folder / name);
    struct stat status {};
    if (counts && ::lstat((folder / name).c_str(), &status) != 0 && errno == ENOENT) return {folder / name, true};
  }
  std::size_t seen = 0;
  std::optional<std::set<FileId>> others;
  fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error), end;
  for (; !error && it != end; it.increment(error), ++seen) {
    if (seen == search.most_entries) return {std::nullopt, false};
    const fs::path& path = it->path();
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) continue;
    if (S_ISDIR(status.st_mode)) {
      const bool elsewhere = status.st_dev != root.st_dev;
      if (is_excepted(path) || elsewhere || is_cache(path.filename().string()) || session::is_session(path)) {
        it.disable_recursion_pending();
      } else if (made_since(path, search.before.file_time)) {
        return {path, true};
      }
      continue;
    }
    if (is_excepted(path) || is_own_output(status)) continue;
    const bool is_link = S_ISLNK(status.st_mode) && path.filename() != session::kLatest;
    if (is_link && made_since(path, search.before.file_time)) return {path, true};
    if (!S_ISREG(status.st_mode) || written_at(status) < search.before.file_time) continue;
    if (!others) others = being_written();
    if (!others->contains({status.st_dev, status.st_ino})) return {path, true};
  }
  return {std::nullopt, !error};
}

}  // namespace cudadiag::launch
