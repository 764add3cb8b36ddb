#include "session/session_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <functional>
#include <utility>

#include "session/manifest.h"
#include "session/sparse_copy.h"

namespace cudadiag::session {

bool is_for_lack_of_room(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

namespace {

namespace fs = std::filesystem;

Failure failed(const std::string& doing, const fs::path& what, int error) {
  return {"cannot " + doing + " " + what.string() + ": " + std::strerror(error),
          is_for_lack_of_room(error) ? "free some space, or name another folder with -o FOLDER"
                                     : "name a folder that you can write with -o FOLDER"};
}

std::string session_name(std::uint32_t pid, std::int64_t unix_seconds) {
  const std::time_t time = static_cast<std::time_t>(unix_seconds);
  std::tm utc{};
  ::gmtime_r(&time, &utc);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &utc);
  return std::string(stamp) + "-" + std::to_string(pid);
}

// A root that somebody else owns could be made to point anywhere: in a shared temporary folder it is refused.
std::optional<Failure> prepare_root(const Root& root) {
  std::error_code error;
  fs::create_directories(root.folder.parent_path(), error);
  if (error) return failed("create the session folder", root.folder, error.value());
  if (::mkdir(root.folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return failed("create the session folder", root.folder, errno);
  }
  struct stat status {};
  if (::lstat(root.folder.c_str(), &status) != 0) return failed("use the session folder", root.folder, errno);
  if (!fs::is_directory(root.folder, error)) {
    return Failure{root.folder.string() + " is not a folder", "name a folder that you can write with -o FOLDER"};
  }
  if (!root.warning.empty() && (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid())) {
    return Failure{root.folder.string() + " belongs to somebody else", "name a folder of your own with -o FOLDER"};
  }
  return std::nullopt;
}

// As commands to paste are to name it. Behind a link, ".." leads elsewhere than it reads.
fs::path without_dots(const fs::path& folder) {
  const bool ascends = std::find(folder.begin(), folder.end(), "..") != folder.end();
  std::error_code error;
  const fs::path plain = ascends ? fs::canonical(folder, error) : folder.lexically_normal();
  return error ? folder : plain;
}

// Writes a file beside `path` and renames it there, so that a reader sees the old or the new one.
std::optional<Failure> replace_file(const fs::path& path, const std::function<bool(int)>& write, bool& lacks_room) {
  const fs::path draft = path.string() + ".new";
  ::unlink(draft.c_str());
  const FileDescriptor file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file.valid() && write(file.get()) && ::rename(draft.c_str(), path.c_str()) == 0) return std::nullopt;
  const int error = errno;
  lacks_room = is_for_lack_of_room(error);
  if (!file.valid()) return failed("create", draft, error);
  ::unlink(draft.c_str());
  return failed("write", path, error);
}

bool write_text(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

void point_latest_at(const fs::path& root, const fs::path& folder) {
  const fs::path draft = root / (".latest-" + std::to_string(::getpid()));
  ::unlink(draft.c_str());
  if (::symlink(folder.filename().c_str(), draft.c_str()) != 0) return;
  if (::rename(draft.c_str(), (root / kLatest).c_str()) != 0) ::unlink(draft.c_str());
}

}  // namespace

Result<SessionWriter> SessionWriter::create(const std::vector<Root>& roots, std::uint32_t pid,
                                            std::int64_t unix_seconds) {
  Failure first{"there is no folder for the session", "name one with -o FOLDER"};
  bool failed_before = false;
  for (Root root : roots) {
    const auto remember = [&](Failure failure) {
      if (root.by_variable) failure.what = "CUDADIAG_DIR cannot be used: " + failure.what;
      if (!failed_before) first = std::move(failure);
      failed_before = true;
    };
    std::error_code error;
    const fs::path absolute = fs::absolute(root.folder, error);
    if (!error) root.folder = absolute;
    if (auto failure = prepare_root(root)) {
      remember(std::move(*failure));
      continue;
    }
    root.folder = without_dots(root.folder);
    // The same second and pid can come twice where containers share a folder.
    for (int attempt = 1; attempt < 100; ++attempt) {
      const std::string name = session_name(pid, unix_seconds) + (attempt == 1 ? "" : "-" + std::to_string(attempt));
      const fs::path folder = root.folder / (name + kIncomplete);
      if (fs::exists(root.folder / name, error)) continue;
      if (::mkdir(folder.c_str(), 0700) != 0) {
        if (errno == EEXIST) continue;
        remember(failed("create the session folder", folder, errno));
        break;
      }
      FileDescriptor lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
      if (!lock.valid() || ::mkdir((folder / kRecordFolder).c_str(), 0700) != 0) {
        remember(failed("create the session folder", folder, errno));
        break;
      }
      ::flock(lock.get(), LOCK_EX | LOCK_NB);
      if (failed_before) root.warning = first.what + (root.warning.empty() ? "" : "; " + root.warning);
      return SessionWriter(std::move(root), folder, std::move(lock));
    }
  }
  return first;
}

Result<SessionWriter> SessionWriter::reopen(const fs::path& folder) {
  std::error_code error;
  const fs::path absolute = fs::canonical(folder, error);
  FileDescriptor lock(::open(absolute.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (error || !lock.valid()) return failed("open the session", folder, error ? error.value() : errno);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return Failure{absolute.string() + " is being written by another cudadiag", "wait until it has ended"};
  }
  return SessionWriter({absolute.parent_path(), true, ""}, absolute, std::move(lock));
}

Result<std::string> SessionWriter::begin_pass(const std::string& name) {
  for (int n = 1; n < 1000; ++n) {
    const std::string folder = n == 1 ? name : name + "-" + std::to_string(n);
    if (::mkdir((folder_ / folder).c_str(), 0700) == 0) {
      pass_ = folder;
      area_names_.clear();
      return folder;
    }
    if (errno != EEXIST) break;
  }
  return failed("create the folder", folder_ / name, errno);
}

fs::path SessionWriter::final_folder() const {
  const std::string name = folder_.string();
  return name.ends_with(kIncomplete) ? name.substr(0, name.size() - std::strlen(kIncomplete)) : name;
}

std::string SessionWriter::area_name(std::size_t index, std::uint32_t pid) {
  const auto known = area_names_.find(index);
  if (known != area_names_.end()) return known->second;
  const auto taken = [&](const std::string& name) {
    return std::any_of(area_names_.begin(), area_names_.end(), [&](const auto& entry) { return entry.second == name; });
  };
  std::string name = std::to_string(pid);
  for (int n = 2; taken(name); ++n) name = std::to_string(pid) + "-" + std::to_string(n);
  area_names_[index] = name;
  return name;
}

std::optional<Failure> SessionWriter::store_area(std::size_t index, std::uint32_t pid, int file, std::uint64_t begin,
                                                 std::uint64_t end) {
  const fs::path path = pass_folder() / (area_name(index, pid) + ".area");
  return replace_file(
      path, [&](int target) { return copy_sparse(file, begin, end, target); }, lacks_room_);
}

std::vector<fs::path> SessionWriter::foreign_areas() const {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(pass_folder(), error), end; !error && it != end; it.increment(error)) {
    const auto own = [&](const auto& entry) { return entry.second == it->path().stem().string(); };
    if (it->path().extension() == ".area" && std::none_of(area_names_.begin(), area_names_.end(), own)) {
      files.push_back(it->path());
    }
  }
  return files;
}

std::optional<Failure> SessionWriter::store_text(const fs::path& file, std::string_view text) {
  return replace_file(
      file, [&](int draft) { return write_text(draft, text); }, lacks_room_);
}

std::optional<Failure> SessionWriter::store_manifest(const Manifest& manifest) {
  return store_text(folder_ / kManifest, write_manifest(manifest));
}

std::optional<Failure> SessionWriter::store_races(const Races& races) {
  return store_text(folder_ / kRaces, write_races(races));
}

std::optional<Failure> SessionWriter::store_live_place(const LivePlace& place, const Manifest& manifest) {
  if (auto failure = store_text(folder_ / kRunningFile, write_manifest(manifest))) return failure;
  return store_text(folder_ / kArenaFile, write_live_place(place));
}

void SessionWriter::drop_live_place() {
  for (const char* live : {kArenaFile, kRunningFile}) ::unlink((folder_ / live).c_str());
}

std::optional<Failure> SessionWriter::finish(const Retention& retention) {
  std::error_code error;
  if (!fs::exists(folder_ / kManifest, error)) {
    // The part that was written at the beginning, or could be stored, is still useful.
    if (is_blank(folder_) && !fs::exists(folder_ / kRunningFile, error)) discard();
    return Failure{"the session " + folder_.string() + " could not be finished: it has no " + kManifest, ""};
  }
  drop_live_place();
  const fs::path target = final_folder();
  if (::rename(folder_.c_str(), target.c_str()) != 0) return failed("rename the session", folder_, errno);
  folder_ = target;
  point_latest_at(root_.folder, folder_);
  if (!root_.asked_for) retain(root_.folder, folder_, retention);
  return std::nullopt;
}

void SessionWriter::discard() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
  // It may have been finished before.
  const fs::path latest = root_.folder / kLatest;
  if (!fs::is_symlink(latest, ignored) || fs::exists(latest, ignored)) return;
  for (const fs::path& session : sessions_in(root_.folder)) {
    if (!session.string().ends_with(kIncomplete)) return point_latest_at(root_.folder, session);
  }
  fs::remove(latest, ignored);
}

}  // namespace cudadiag::session
