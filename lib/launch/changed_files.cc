#include "launch/changed_files.h"

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
  constexpr std::string_view kCaches[] = {"__pycache__", ".git", ".pytest_cache", ".nv", ".triton"};
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

// Not all file systems know when an entry was made: then it counts as made when it was last changed.
std::int64_t made_at(const fs::path& path, const struct stat& status) {
  struct statx more {};
  const bool known = ::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BTIME, &more) == 0 &&
                     (more.stx_mask & STATX_BTIME) != 0;
  return known ? more.stx_btime.tv_sec * 1'000'000'000 + more.stx_btime.tv_nsec : nanoseconds(status.st_ctim);
}

// Anybody's entries come and go in a folder like /tmp.
bool is_shared(const struct stat& status) { return (status.st_mode & S_ISVTX) != 0; }

std::int64_t time_of(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return nanoseconds(now);
}

// Folders whose entries have come or gone, as far as that is not due to what is left out.
class ChangedFolders {
 public:
  explicit ChangedFolders(std::int64_t since) : since_(since) {}
  void see(const fs::path& folder, const struct stat& status) {
    if (!is_shared(status) && nanoseconds(status.st_mtim) >= since_) changed_.push_back(folder);
  }
  void excuse(const fs::path& entry, const struct stat& status) {
    if (made_at(entry, status) >= since_) excused_.insert(entry.parent_path());
  }
  // Sessions are renamed, linked to and deleted beside it.
  void excuse_session(const fs::path& session) { excused_.insert(session.parent_path()); }
  // A folder that was made rather than the one that it was made in.
  std::optional<fs::path> last() const {
    const auto found = std::find_if(changed_.rbegin(), changed_.rend(),
                                    [&](const fs::path& folder) { return !excused_.contains(folder); });
    return found == changed_.rend() ? std::nullopt : std::optional(*found);
  }

 private:
  std::int64_t since_;
  std::vector<fs::path> changed_;
  std::set<fs::path> excused_;
};

}  // namespace

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

FileChanges changed_files(const FileSearch& search) {
  std::error_code error;
  std::vector<fs::path> except;
  for (const fs::path& path : search.except) except.push_back(fs::weakly_canonical(path, error));
  std::size_t seen = 0;
  std::optional<std::set<FileId>> others;
  const fs::path folder = fs::canonical(search.folder, error);
  struct stat root {};
  ChangedFolders folders(search.since_nanoseconds);
  if (::stat(folder.c_str(), &root) == 0) folders.see(folder, root);
  fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error), end;
  for (; !error && it != end; it.increment(error), ++seen) {
    if (seen == search.most_entries) return {std::nullopt, false};
    const fs::path& path = it->path();
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) continue;
    const bool excepted = std::find(except.begin(), except.end(), path) != except.end();
    if (S_ISDIR(status.st_mode)) {
      const bool elsewhere = status.st_dev != root.st_dev;
      const bool session = session::is_session(path);
      const bool passed_over = excepted || elsewhere || session || is_cache(path.filename().string());
      if (passed_over) it.disable_recursion_pending();
      if (session) folders.excuse_session(path);
      passed_over ? folders.excuse(path, status) : folders.see(path, status);
      continue;
    }
    if (excepted || is_own_output(status)) {
      folders.excuse(path, status);
      continue;
    }
    if (!S_ISREG(status.st_mode) || written_at(status) < search.since_nanoseconds) continue;
    if (!others) others = being_written();
    if (!others->contains({status.st_dev, status.st_ino})) return {path, true};
    folders.excuse(path, status);
  }
  const std::optional<fs::path> changed = folders.last();
  return {changed, changed || !error};
}

}  // namespace cudadiag::launch
