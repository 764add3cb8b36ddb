#include "supervise/created_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "launch/isolation/isolation.h"
#include "launch/isolation/overlays.h"
#include "launch/isolation/private_folders.h"

namespace cudadiag::supervise {
namespace {

namespace fs = std::filesystem;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kMostEntries = 20'000, kMostHidden = 1000;
constexpr std::size_t kMostText = 8u << 20;  // bytes
constexpr auto kListing = std::chrono::milliseconds(50);

std::chrono::system_clock::time_point time_of(const auto& time) {
  const auto since = std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  return std::chrono::system_clock::time_point(std::chrono::duration_cast<std::chrono::system_clock::duration>(since));
}

// Returns the time by the clock of file systems, which lags behind by up to a tick.
std::chrono::system_clock::time_point file_system_now() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return time_of(now);
}

// Returns the properties of the file, with STATX_BTIME if the file system keeps times of birth; all 0 without a file.
struct statx properties_of(const fs::path& file) {
  struct statx status {};
  ::statx(AT_FDCWD, file.c_str(), AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_BASIC_STATS | STATX_BTIME, &status);
  return status;
}

bool was_born_after(const fs::path& file, std::chrono::system_clock::time_point time) {
  return time_of(properties_of(file).stx_btime) > time;
}

struct Entry {
  ino_t inode = 0;
  bool is_folder = false;
};

std::map<std::string, Entry> entries_of(const fs::path& folder) {
  std::map<std::string, Entry> entries;
  const std::unique_ptr<DIR, int (*)(DIR*)> opened(::opendir(folder.c_str()), ::closedir);
  if (opened == nullptr) return entries;
  while (const dirent* entry = ::readdir(opened.get())) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    bool is_folder = entry->d_type == DT_DIR;
    struct stat status {};
    if (entry->d_type == DT_UNKNOWN && ::lstat((folder / name).c_str(), &status) == 0)
      is_folder = S_ISDIR(status.st_mode);
    entries[name] = {entry->d_ino, is_folder};
  }
  return entries;
}

// Returns true if everything in this folder stays, so that it need not be listed.
bool stays_whole(const fs::path& folder) {
  const std::string name = folder.filename();
  if (name == ".git" || name == ".cache" || name == "__pycache__") return true;
  return ::access((folder / "pyvenv.cfg").c_str(), F_OK) == 0 || ::access((folder / "CACHEDIR.TAG").c_str(), F_OK) == 0;
}

// Returns true for code, which a program may have compiled, installed or downloaded.
bool is_code(const fs::path& file, const struct stat& status) {
  if (S_ISREG(status.st_mode) && (status.st_mode & 0111) != 0 && status.st_size > 0) return true;
  static constexpr std::array<std::string_view, 12> kEndings = {".so",     ".o",   ".a",   ".pyc", ".pyd", ".cubin",
                                                                ".fatbin", ".ptx", ".whl", ".nbi", ".nbc", ".bc"};
  const std::string name = file.filename();
  return name.find(".so.") != std::string::npos ||
         std::ranges::any_of(kEndings, [&](std::string_view ending) { return name.ends_with(ending); });
}

// Chooses, from what is new, what can be hidden.
class Choice {
 public:
  Choice(std::chrono::system_clock::time_point since, const session::Session& session)
      : since_(since),
        session_(session.folder),
        own_{session.folder, session.folder.parent_path() / "latest"},
        caches_(launch::cache_folders()) {
    for (const session::Process& process : session.processes) {
      for (const session::Module& module : process.record.modules) mapped_.insert(module.path);
    }
  }

  // Returns true for what cudadiag itself creates. The session's folder may still have the suffix ".incomplete".
  bool is_of_session(const fs::path& file) const {
    return own_.contains(file) || (!session_.empty() && file.string().starts_with(session_));
  }

  // Adds the file to `since` if another file has this name now, or if it was changed since. The session's files and
  // those that received the program's output do not count.
  void add_changed(const fs::path& file, bool is_same, FolderSnapshot::Since& since) const {
    struct stat status {};
    if (::lstat(file.c_str(), &status) != 0 || is_of_session(file)) return;
    // The time of the last change of the file or its properties. Unlike the time of the last write, no program sets it.
    if (is_same && (S_ISDIR(status.st_mode) || time_of(status.st_ctim) < since_)) return;
    for (const int number : {STDOUT_FILENO, STDERR_FILENO}) {
      struct stat output {};
      const bool known = ::fstat(number, &output) == 0;
      if (known && output.st_ino == status.st_ino && output.st_dev == status.st_dev) return;
    }
    since.changed.push_back(file);
  }

  // Adds `path`, which is new, to what was made, or else what is in it. If it cannot be hidden, it counts as changed,
  // unless it is code or of a cache.
  void add(const fs::path& path, FolderSnapshot::Since& since) const {
    struct stat status {};
    if (can_hide(path)) {
      since.made.push_back(path);
    } else if (is_open(path)) {
      if (holds_code(path)) return;
      for (const auto& [name, entry] : entries_of(path)) add(path / name, since);
    } else if (::lstat(path.c_str(), &status) == 0 && !S_ISDIR(status.st_mode) && !is_of_session(path) &&
               !is_cache(path) && !is_code(path, status) && !mapped_.contains(path)) {
      since.changed.push_back(path);
    }
  }

 private:
  bool is_open(const fs::path& path) const {
    struct stat status {};
    return !is_of_session(path) && !is_cache(path) && ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
           !stays_whole(path);
  }

  // A folder with code in it is the work of a compiler, which would not find its files again.
  static bool holds_code(const fs::path& folder) {
    const auto entries = entries_of(folder);
    return std::ranges::any_of(entries, [&](const auto& entry) {
      struct stat status {};
      const fs::path file = folder / entry.first;
      return !entry.second.is_folder && ::lstat(file.c_str(), &status) == 0 && is_code(file, status);
    });
  }

  bool is_cache(const fs::path& path) const { return launch::is_below(path, caches_); }

  // Returns true if this user created the file, and everything in it if it is a folder, during the first run.
  bool can_hide(const fs::path& path) const {
    const struct statx status = properties_of(path);
    if ((status.stx_mask & STATX_BTIME) == 0 || status.stx_uid != ::geteuid()) return false;
    if (time_of(status.stx_btime) < since_ || is_of_session(path) || is_cache(path)) return false;
    if (!S_ISDIR(status.stx_mode)) {
      struct stat as_file {};
      as_file.st_mode = status.stx_mode;
      as_file.st_size = static_cast<off_t>(status.stx_size);
      return !is_code(path, as_file) && !mapped_.contains(path);
    }
    if (stays_whole(path)) return false;
    const auto entries = entries_of(path);
    return std::ranges::all_of(entries, [&](const auto& entry) { return can_hide(path / entry.first); });
  }

  const std::chrono::system_clock::time_point since_;
  const std::string session_;
  const std::set<fs::path> own_;  // what cudadiag created
  const std::vector<fs::path> caches_;
  std::set<fs::path> mapped_;
};

}  // namespace

struct FolderSnapshot::Walk {
  std::size_t entries = 0;
  // Other file systems in the folders are not listed: a file server that does not answer would block this process.
  std::set<fs::path> mounts = launch::mount_points();
  SteadyClock::time_point end = SteadyClock::now() + kListing;
  std::vector<fs::path> added;  // folders below the present root
  bool ends = false;
};

FolderSnapshot FolderSnapshot::list(const std::vector<std::string>& command) {
  FolderSnapshot beginning;
  beginning.at_ = file_system_now();
  Walk walk;
  std::error_code error;
  beginning.add_root(fs::current_path(error), walk);
  for (std::size_t i = 1; i < command.size(); ++i) {
    // "--output=folder" names a folder, too.
    const fs::path named = fs::absolute(command[i].substr(command[i].find('=') + 1), error);
    fs::path real = fs::weakly_canonical(named, error);
    if (error || command[i].empty() || command[i].size() > 4096) continue;
    if (fs::is_directory(real, error)) {
      // A folder above the working folder is not the program's own.
      if (!launch::is_below(fs::current_path(error), {real})) beginning.add_root(real, walk);
    } else if (!fs::exists(real, error) && real.has_parent_path()) {
      // The program will create the folders above it, too.
      while (!fs::exists(real.parent_path(), error) && real.has_relative_path()) real = real.parent_path();
      beginning.absent_.push_back(real);
    }
  }
  return beginning;
}

void FolderSnapshot::add_root(const fs::path& folder, Walk& walk) {
  walk.added.clear();
  add_folder(folder, walk);
  if (!walk.ends) return;
  unlisted_.push_back(folder);
  for (const fs::path& added : walk.added) folders_.erase(added);
}

void FolderSnapshot::add_folder(const fs::path& folder, Walk& walk) {
  if (walk.ends || folders_.contains(folder) || stays_whole(folder)) return;
  walk.added.push_back(folder);
  auto& names = folders_[folder];
  for (const auto& [name, entry] : entries_of(folder)) {
    names[name] = entry.inode;
    if (++walk.entries > kMostEntries || SteadyClock::now() > walk.end) walk.ends = true;
    if (entry.is_folder && !walk.mounts.contains(folder / name)) add_folder(folder / name, walk);
  }
}

FolderSnapshot::Since FolderSnapshot::since(const session::Session& session) const {
  Since since;
  since.whole = unlisted_;
  const Choice choice(at_, session);
  std::error_code error;
  for (const auto& [folder, names] : folders_) {
    const auto entries = entries_of(folder);
    if (!fs::exists(folder, error)) {
      // A folder in a listed one is a name there.
      if (!folders_.contains(folder.parent_path())) since.removed.push_back(folder);
      continue;
    }
    for (const auto& [name, inode] : names) {
      if (!entries.contains(name) && !choice.is_of_session(folder / name)) since.removed.push_back(folder / name);
    }
    for (const auto& [name, entry] : entries) {
      const auto before = names.find(name);
      if (before == names.end()) {
        choice.add(folder / name, since);
      } else {
        choice.add_changed(folder / name, before->second == entry.inode, since);
      }
    }
  }
  for (const fs::path& path : absent_) {
    const bool listed =
        std::ranges::any_of(folders_, [&](const auto& folder) { return launch::is_below(path, {folder.first}); });
    if (!listed && fs::exists(fs::symlink_status(path, error))) choice.add(path, since);
  }
  // The names are arguments of another process.
  if (since.made.size() > kMostHidden) {
    since.changed.insert(since.changed.end(), since.made.begin(), since.made.end());
    since.made.clear();
    for (const auto& [folder, names] : folders_) {
      if (!folders_.contains(folder.parent_path())) since.whole.push_back(folder);
    }
  }
  return since;
}

// Each path follows a letter, and ends with a zero byte.
constexpr char kMade = 'm', kChanged = 'c', kRemoved = 'r', kWhole = 'w';

std::string written(const FolderSnapshot::Since& since) {
  std::string text;
  for (const auto& [letter, paths] : {std::pair(kMade, &since.made), std::pair(kChanged, &since.changed),
                                      std::pair(kRemoved, &since.removed), std::pair(kWhole, &since.whole)}) {
    for (const fs::path& path : *paths) text += letter + path.string() + '\0';
  }
  return text;
}

FolderSnapshot::Since read_since(const fs::path& file) {
  FolderSnapshot::Since since;
  struct stat status {};
  if (::lstat(file.c_str(), &status) != 0) return since;
  const std::string text = base::read_start(file, kMostText);
  for (std::size_t at = 0, end; (end = text.find('\0', at)) != text.npos; at = end + 1) {
    fs::path path = text.substr(at + 1, end - at - 1);
    if (text[at] == kChanged) {
      since.changed.push_back(std::move(path));
    } else if (text[at] == kRemoved) {
      since.removed.push_back(std::move(path));
    } else if (text[at] == kWhole) {
      since.whole.push_back(std::move(path));
    } else if (text[at] == kMade) {
      const bool is_hidden = since.made.size() < kMostHidden && !was_born_after(path, time_of(status.st_mtim));
      (is_hidden ? since.made : since.changed).push_back(std::move(path));
    }
  }
  return since;
}

namespace {

// Returns true if a word of the name, or of its folder's name, is one that logs have: "train.log", "lightning_logs/a",
// "events.out.tfevents.1".
bool is_log(const fs::path& path) {
  static constexpr std::array<std::string_view, 11> kWords = {"log",    "logs", "out", "err",   "stdout",  "stderr",
                                                              "output", "csv",  "tsv", "jsonl", "tfevents"};
  const std::string names = path.parent_path().filename().string() + '/' + path.filename().string();
  std::string word;
  for (const char letter : names + '/') {
    if (std::isalpha(static_cast<unsigned char>(letter)) != 0) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
      continue;
    }
    if (std::ranges::find(kWords, word) != kWords.end()) return true;
    word.clear();
  }
  return false;
}

}  // namespace

std::vector<fs::path> otherwise(const FolderSnapshot::Since& since) {
  std::vector<fs::path> paths;
  for (const auto* list : {&since.removed, &since.changed}) {
    std::ranges::copy_if(*list, std::back_inserter(paths), [](const fs::path& path) { return !is_log(path); });
  }
  return paths;
}

std::string note_on_beginning(const FolderSnapshot::Since& since, const fs::path& directory) {
  const auto listed = [&](const std::vector<fs::path>& paths) {
    constexpr std::size_t kMost = 3;
    std::string text;
    for (std::size_t i = 0; i < std::min(paths.size(), kMost); ++i) {
      const bool below = launch::is_below(paths[i], {directory});
      text += (i == 0 ? "" : ", ") + (below ? paths[i].lexically_relative(directory) : paths[i]).string();
    }
    return text + (paths.size() > kMost ? fmt::format(" and {} more", paths.size() - kMost) : "");
  };
  std::string note;
  const auto add = [&](const char* words, const std::vector<fs::path>& paths) {
    if (!paths.empty())
      note +=
          (note.empty() ? "isolated reruns that could write " : "; they ") + std::string(words) + ": " + listed(paths);
  };
  add("did not see what was created during the first run", since.made);
  add("saw files that changed during the first run", since.changed);
  add("missed files that the first run removed", since.removed);
  add("saw everything in folders that are large or slow to list", since.whole);
  return note;
}

}  // namespace cudadiag::supervise
