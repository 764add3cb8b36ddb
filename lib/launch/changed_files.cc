#include "launch/changed_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
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
  constexpr std::string_view kCaches[] = {"__pycache__", ".pytest_cache", ".benchmarks",
                                          ".mypy_cache", ".nv",           ".triton"};
  return std::find(std::begin(kCaches), std::end(kCaches), name) != std::end(kCaches);
}

// The index makes git faster, and objects are unused without a change of its other files.
bool is_index(const fs::path& path) {
  const std::string name = path.filename().string();
  return path.parent_path().filename() == ".git" && (name == "index" || name == "objects");
}

// Files there have the time of a server, whose clock may be behind.
bool is_remote(const fs::path& folder) {
  constexpr std::uint32_t kNfs = 0x6969, kSmb = 0x517b, kSmb2 = 0xfe534d42, kCifs = 0xff534d42, kFuse = 0x65735546,
                          k9p = 0x01021997, kLustre = 0x0bd00bd0, kCeph = 0x00c36400, kGpfs = 0x47504653,
                          kAfs = 0x5346414f, kBeeGfs = 0x19830326, kVirtualBox = 0x786f4256;
  constexpr std::uint32_t kRemote[] = {kNfs,    kSmb,  kSmb2, kCifs, kFuse,   k9p,
                                       kLustre, kCeph, kGpfs, kAfs,  kBeeGfs, kVirtualBox};
  struct statfs system {};
  if (::statfs(folder.c_str(), &system) != 0) return true;
  return std::find(std::begin(kRemote), std::end(kRemote), static_cast<std::uint32_t>(system.f_type)) !=
         std::end(kRemote);
}

bool is_own_output(const struct stat& status) {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    struct stat own {};
    if (::fstat(number, &own) == 0 && own.st_dev == status.st_dev && own.st_ino == status.st_ino) return true;
  }
  return false;
}

constexpr std::int64_t kMostBehind = 60'000'000'000;  // nanoseconds that a file server's clock may be behind

using FileId = std::pair<dev_t, ino_t>;

// Regular files that processes hold open for writing, as far as we may read their descriptors.
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

// A copy may get the modification time of the original; nobody can set the time of that change.
std::int64_t written_at(const struct stat& status) {
  return std::max(nanoseconds(status.st_mtim), nanoseconds(status.st_ctim));
}

// False also if the file system does not know when an entry was made.
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

namespace {

class Search {
 public:
  explicit Search(const FileSearch& search) : search_(search) {
    std::error_code error;
    for (const fs::path& path : search.except) except_.push_back(fs::weakly_canonical(path, error));
    root_ = fs::canonical(search.folder, error);
    pending_ = {root_};
  }

  FileChanges run() {
    if (auto removed = removed_name()) return {std::move(removed), true};
    while (!pending_.empty()) {
      const fs::path folder = std::move(pending_.back());
      pending_.pop_back();
      if (auto changed = look_below(folder)) return {std::move(changed), true};
      if (seen_ >= search_.most_entries) return {std::nullopt, false};
    }
    // A file of it says more.
    return {std::move(touched_), whole_};
  }

 private:
  bool is_excepted(const fs::path& path) const {
    return std::find(except_.begin(), except_.end(), path) != except_.end();
  }

  std::optional<fs::path> removed_name() const {
    struct stat status {};
    // In a folder like /tmp anybody's entries come and go.
    if (::stat(root_.c_str(), &status) == 0 && (status.st_mode & S_ISVTX) != 0) return std::nullopt;
    for (const std::string& name : search_.before.names) {
      if (is_cache(name) || session::is_session_name(name) || is_excepted(root_ / name)) continue;
      if (::lstat((root_ / name).c_str(), &status) != 0 && errno == ENOENT) return root_ / name;
    }
    return std::nullopt;
  }

  std::optional<fs::path> look_below(const fs::path& folder) {
    struct stat top {};
    if (::stat(folder.c_str(), &top) != 0) {
      whole_ = false;
      return std::nullopt;
    }
    if (!visited_.emplace(top.st_dev, top.st_ino).second) return std::nullopt;
    const std::int64_t since = search_.before.file_time - (is_remote(folder) ? kMostBehind : 0);
    // An entry of the working folder itself may have been ours.
    if (folder != root_) note_touched(folder, top, since);
    std::error_code error;
    fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error), end;
    for (; !error && it != end && seen_ < search_.most_entries; it.increment(error), ++seen_) {
      const fs::path& path = it->path();
      struct stat status {};
      if (::lstat(path.c_str(), &status) != 0) continue;
      if (!S_ISDIR(status.st_mode)) {
        if (is_changed_file(path, status, since)) return path;
        continue;
      }
      const bool ours = is_excepted(path) || session::is_session(path);
      if (ours || is_cache(path.filename().string()) || is_index(path)) {
        it.disable_recursion_pending();
      } else if (status.st_dev != top.st_dev) {
        // Another file system, maybe with times of its own.
        it.disable_recursion_pending();
        pending_.push_back(path);
      } else if (made_since(path, since)) {
        return path;
      } else {
        note_touched(path, status, since);
      }
    }
    whole_ &= !error;
    return std::nullopt;
  }

  // An entry of the folder was added or removed. Its name may be one that is ignored.
  void note_touched(const fs::path& folder, const struct stat& status, std::int64_t since) {
    const bool is_shared = (status.st_mode & S_ISVTX) != 0;
    if (touched_ || is_shared || folder.filename() == ".git" || written_at(status) < since) return;
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
      const std::string name = it->path().filename().string();
      if (session::is_session_name(name) || name == session::kLatest || is_excepted(it->path())) return;
    }
    touched_ = folder;
  }

  bool is_changed_file(const fs::path& path, const struct stat& status, std::int64_t since) {
    if (is_excepted(path) || is_index(path) || is_own_output(status)) return false;
    if (S_ISLNK(status.st_mode) && path.filename() != session::kLatest) {
      std::error_code dangling;
      if (fs::is_directory(path, dangling)) pending_.push_back(fs::canonical(path, dangling));
      return made_since(path, since);
    }
    if (!S_ISREG(status.st_mode) || written_at(status) < since) return false;
    if (!others_) others_ = being_written();
    return !others_->contains({status.st_dev, status.st_ino});
  }

  const FileSearch& search_;
  fs::path root_;
  std::vector<fs::path> except_, pending_;
  std::set<FileId> visited_;
  std::optional<std::set<FileId>> others_;
  std::optional<fs::path> touched_;
  std::size_t seen_ = 0;
  bool whole_ = true;
};

}  // namespace

FileChanges changed_files(const FileSearch& search) { return Search(search).run(); }

}  // namespace cudadiag::launch
