#include "launch/changed_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

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

std::int64_t written_at(const struct stat& status) {
  return static_cast<std::int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec;
}

}  // namespace

std::optional<fs::path> changed_file(const FileSearch& search) {
  std::error_code error;
  std::vector<fs::path> except;
  for (const fs::path& path : search.except) except.push_back(fs::weakly_canonical(path, error));
  std::size_t seen = 0;
  fs::recursive_directory_iterator it(fs::canonical(search.folder, error),
                                      fs::directory_options::skip_permission_denied, error),
      end;
  for (; !error && it != end && seen < search.most_entries; it.increment(error), ++seen) {
    const fs::path& path = it->path();
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) continue;
    const bool excepted = std::find(except.begin(), except.end(), path) != except.end();
    if (S_ISDIR(status.st_mode)) {
      if (excepted || is_cache(path.filename().string())) it.disable_recursion_pending();
      continue;
    }
    if (excepted || !S_ISREG(status.st_mode) || is_own_output(status)) continue;
    if (written_at(status) >= search.since_nanoseconds) return path;
  }
  return std::nullopt;
}

}  // namespace cudadiag::launch
