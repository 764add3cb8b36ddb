#include "launch/changed_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

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

}  // namespace

FileChanges changed_files(const FileSearch& search) {
  std::error_code error;
  std::vector<fs::path> except;
  for (const fs::path& path : search.except) except.push_back(fs::weakly_canonical(path, error));
  std::size_t seen = 0;
  std::optional<std::set<FileId>> others;
  struct stat root {};
  ::stat(search.folder.c_str(), &root);
  fs::recursive_directory_iterator it(fs::canonical(search.folder, error),
                                      fs::directory_options::skip_permission_denied, error),
      end;
  for (; !error && it != end; it.increment(error), ++seen) {
    if (seen == search.most_entries) return {std::nullopt, false};
    const fs::path& path = it->path();
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) continue;
    const bool excepted = std::find(except.begin(), except.end(), path) != except.end();
    if (S_ISDIR(status.st_mode)) {
      const bool elsewhere = status.st_dev != root.st_dev;
      const bool passed_over = excepted || elsewhere || is_cache(path.filename().string()) || session::is_session(path);
      if (passed_over) it.disable_recursion_pending();
      continue;
    }
    if (excepted || !S_ISREG(status.st_mode) || is_own_output(status)) continue;
    if (written_at(status) < search.since_nanoseconds) continue;
    if (!others) others = being_written();
    if (!others->contains({status.st_dev, status.st_ino})) return {path, true};
  }
  return {std::nullopt, !error};
}

}  // namespace cudadiag::launch
