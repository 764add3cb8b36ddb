#include "session/session_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <functional>
#include <set>
#include <thread>
#include <utility>

#include "session/session.h"
#include "session/session_files.h"
#include "session/session_trust.h"

namespace cudadiag::session {

namespace {

namespace fs = std::filesystem;

base::Error failed(const std::string& doing, const fs::path& what, int error) {
  return {"cannot " + doing + " " + what.string() + ": " + std::strerror(error),
          error == EMFILE                    ? "raise the limit of open files: ulimit -n"
          : base::is_for_lack_of_room(error) ? "free some space, or choose a different folder with -o FOLDER"
                                             : "choose a writable folder with -o FOLDER"};
}

std::string session_name(std::uint32_t pid, std::int64_t unix_seconds) {
  return second_text(static_cast<std::time_t>(unix_seconds)) + "-" + std::to_string(pid);
}

// Opens the folder for sessions, and creates it if it is missing. In a shared temporary folder, rejects a folder that
// another user owns, because that user could have put links into it.
base::Result<base::FileDescriptor> open_root(const Root& root) {
  std::error_code error;
  fs::create_directories(root.folder.parent_path(), error);
  if (error) return failed("create the session folder", root.folder, error.value());
  if (::mkdir(root.folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return failed("create the session folder", root.folder, errno);
  }
  const bool shared = !root.warning.empty();
  const base::Error foreign{root.folder.string() + " belongs to another user",
                            "choose a folder of your own with -o FOLDER"};
  base::FileDescriptor folder(
      ::open(root.folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC | (shared ? O_NOFOLLOW : 0)));
  struct stat status {};
  if (!folder.valid() && shared && errno != EACCES && fs::is_symlink(root.folder, error)) return foreign;
  if (!folder.valid() && errno == ENOTDIR) {
    return base::Error{root.folder.string() + " is not a folder", "choose a writable folder with -o FOLDER"};
  }
  if (!folder.valid() || ::fstat(folder.get(), &status) != 0) {
    return failed("use the session folder", root.folder, errno);
  }
  if (shared && status.st_uid != ::geteuid()) return foreign;
  // Rejects other users' links. root may run with the HOME of another user, whose links could lead anywhere.
  struct stat link {};
  const bool is_link = ::lstat(root.folder.c_str(), &link) == 0 && S_ISLNK(link.st_mode);
  if (is_link && !root.asked_for && link.st_uid != ::geteuid() && link.st_uid != 0) return foreign;
  return folder;
}

void add_warning(Root& root, const std::string& more) {
  if (!more.empty()) root.warning = more + (root.warning.empty() ? "" : "; " + root.warning);
}

// Returns a path that users can paste into commands. It contains no "..", because ".." after a link leads to the parent
// of the link's target.
fs::path without_dots(const fs::path& folder) {
  const bool ascends = std::ranges::find(folder, "..") != folder.end();
  std::error_code error;
  const fs::path plain = ascends ? fs::canonical(folder, error) : folder.lexically_normal();
  return error ? folder : plain;
}

// `path` is used only in messages.
std::optional<base::Error> replace_file(const base::FileDescriptor& folder, const std::string& name,
                                        const fs::path& path, const std::function<bool(int)>& write, bool& lacks_room) {
  const int error = base::replace_file(folder, name, write);
  if (error == 0) return std::nullopt;
  lacks_room = base::is_for_lack_of_room(error);
  return failed("write", path, error);
}

void point_latest_at(const base::FileDescriptor& root, const std::string& session) {
  const std::string draft = ".latest-" + std::to_string(::getpid());
  ::unlinkat(root.get(), draft.c_str(), 0);
  if (::symlinkat(session.c_str(), root.get(), draft.c_str()) != 0) return;
  if (::renameat(root.get(), draft.c_str(), root.get(), kLatest) != 0) ::unlinkat(root.get(), draft.c_str(), 0);
}

void mend_latest(const base::FileDescriptor& root) {
  std::error_code ignored;
  const fs::path folder = base::path_through(root);
  const fs::path latest = folder / kLatest;
  if (!fs::is_symlink(latest, ignored) || fs::exists(latest, ignored)) return;
  for (const fs::path& session : sessions_in(folder)) {
    if (!session.string().ends_with(kIncomplete)) return point_latest_at(root, session.filename().string());
  }
  ::unlinkat(root.get(), kLatest, 0);
}

// Returns false if another process writes to the session. A test by is_being_written() also holds the lock, but only
// for a moment.
bool lock_now(int folder) {
  constexpr int kAttempts = 10;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (::flock(folder, LOCK_EX | LOCK_NB) == 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace

base::Result<SessionWriter> SessionWriter::create(const std::vector<Root>& roots, std::uint32_t pid,
                                                  std::int64_t unix_seconds) {
  base::Error first{"no folder for the session was found", "choose one with -o FOLDER"};
  bool failed_before = false;
  for (Root root : roots) {
    const auto remember = [&](base::Error failure) {
      if (root.by_variable) failure.what = "CUDADIAG_DIR cannot be used: " + failure.what;
      if (!failed_before) first = std::move(failure);
      failed_before = true;
    };
    std::error_code error;
    const fs::path absolute = fs::absolute(root.folder, error);
    if (!error) root.folder = absolute;
    auto opened = open_root(root);
    if (auto* failure = std::get_if<base::Error>(&opened)) {
      remember(std::move(*failure));
      continue;
    }
    auto& folder = std::get<base::FileDescriptor>(opened);
    root.folder = without_dots(root.folder);
    auto made = create_in_root(root, std::move(folder), session_name(pid, unix_seconds));
    if (auto* failure = std::get_if<base::Error>(&made)) {
      remember(std::move(*failure));
      continue;
    }
    auto& writer = std::get<SessionWriter>(made);
    add_warning(writer.root_, exposure_of(writer.root_.folder));
    if (failed_before) add_warning(writer.root_, first.what);
    return std::move(writer);
  }
  return first;
}

// Tries several names, because containers that share the folder may start in the same second with the same pid.
base::Result<SessionWriter> SessionWriter::create_in_root(const Root& root, base::FileDescriptor root_fd,
                                                          const std::string& base) {
  struct stat status {};
  for (int attempt = 1; attempt < 100; ++attempt) {
    const std::string name = base + (attempt == 1 ? "" : "-" + std::to_string(attempt));
    const std::string incomplete = name + kIncomplete;
    const fs::path folder = root.folder / incomplete;
    if (::fstatat(root_fd.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) continue;
    if (::mkdirat(root_fd.get(), incomplete.c_str(), 0700) != 0) {
      if (errno == EEXIST) continue;
      return failed("create the session folder", folder, errno);
    }
    base::FileDescriptor lock = base::open_plain_folder(root_fd.get(), incomplete.c_str());
    if (!lock.valid() || ::mkdirat(lock.get(), kRecordFolder, 0700) != 0) {
      return failed("create the session folder", folder, errno);
    }
    base::FileDescriptor pass = base::open_plain_folder(lock.get(), kRecordFolder);
    if (!pass.valid()) return failed("create the session folder", folder, errno);
    // Waits for a moment if another process is testing this lock with is_being_written().
    while (::flock(lock.get(), LOCK_EX) != 0 && errno == EINTR) continue;
    return SessionWriter(root, folder, std::move(root_fd), std::move(lock), std::move(pass));
  }
  return base::Error{"cannot create a session in " + root.folder.string() + ": all names for it are taken",
                     "run the command again"};
}

base::Result<SessionWriter> SessionWriter::reopen(const fs::path& folder) {
  std::error_code error;
  const fs::path absolute = fs::canonical(folder, error);
  base::FileDescriptor root(::open(absolute.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  base::FileDescriptor lock = base::open_plain_folder(root.get(), absolute.filename().c_str());
  if (error || !lock.valid()) return failed("open the session", folder, error ? error.value() : errno);
  if (!lock_now(lock.get())) {
    return base::Error{absolute.string() + " is being written by another cudadiag process",
                       "wait until that process has ended"};
  }
  session::drop_passing_launches(lock);
  base::FileDescriptor pass = base::open_plain_folder(lock.get(), kRecordFolder);
  return SessionWriter({absolute.parent_path(), true, ""}, absolute, std::move(root), std::move(lock), std::move(pass));
}

base::Result<std::string> SessionWriter::begin_pass(const std::string& name) {
  for (int n = 1; n < 1000; ++n) {
    const std::string folder = n == 1 ? name : name + "-" + std::to_string(n);
    if (::mkdirat(lock_.get(), folder.c_str(), 0700) == 0) {
      pass_fd_ = base::open_plain_folder(lock_.get(), folder.c_str());
      pass_ = folder;
      area_names_.clear();
      if (!pass_fd_.valid()) break;
      return folder;
    }
    if (errno != EEXIST) break;
  }
  return failed("create the folder", folder_ / name, errno);
}

fs::path SessionWriter::final_folder() const { return finished_name(folder_); }

std::string SessionWriter::area_name(std::size_t index, std::uint32_t pid) {
  const auto known = area_names_.find(index);
  if (known != area_names_.end()) return known->second;
  const auto taken = [&](const std::string& name) {
    return std::ranges::any_of(area_names_, [&](const auto& entry) { return entry.second == name; });
  };
  std::string name = std::to_string(pid);
  for (int n = 2; taken(name); ++n) name = std::to_string(pid) + "-" + std::to_string(n);
  area_names_[index] = name;
  return name;
}

std::optional<base::Error> SessionWriter::store_area(std::size_t index, std::uint32_t pid, int file,
                                                     std::uint64_t begin, std::uint64_t end) {
  const std::string name = area_name(index, pid) + ".area";
  return replace_file(
      pass_fd_, name, pass_folder() / name, [&](int target) { return copy_sparse(file, begin, end, target); },
      lacks_room_);
}

std::vector<fs::path> SessionWriter::foreign_areas() const {
  std::set<std::string> own;
  for (const auto& entry : area_names_) own.insert(entry.second);
  std::vector<fs::path> files;
  for (const std::string& name : base::names_in(pass_fd_)) {
    fs::path file = pass_folder() / name;
    if (file.extension() == ".area" && !own.contains(file.stem().string())) files.push_back(std::move(file));
  }
  return files;
}

base::FileDescriptor SessionWriter::create_file(const std::string& name) const {
  return base::create_in(pass_fd_, name);
}

base::FileDescriptor SessionWriter::open_parent(const fs::path& inside) const {
  base::FileDescriptor folder = base::open_plain_folder(lock_.get(), ".");
  for (const fs::path& part : inside.parent_path()) {
    const bool ascends = part == "..";
    folder = ascends ? base::FileDescriptor() : base::open_plain_folder(folder.get(), part.c_str());
  }
  return folder;
}

void SessionWriter::remove(const fs::path& place) {
  const fs::path inside = place.lexically_relative(folder_);
  if (inside.empty() || inside.filename() == "." || inside.filename() == "..") return;
  base::remove_from(open_parent(inside), inside.filename().string());
}

std::optional<base::Error> SessionWriter::store_text(const fs::path& file, std::string_view text) {
  const fs::path inside = file.lexically_relative(folder_);
  const base::FileDescriptor folder = open_parent(inside);
  if (inside.empty() || !folder.valid()) return failed("write", file, inside.empty() ? EINVAL : errno);
  return replace_file(
      folder, inside.filename().string(), file, [&](int draft) { return base::write_all(draft, text); }, lacks_room_);
}

std::optional<base::Error> SessionWriter::store_manifest(const Manifest& manifest) {
  return store_text(folder_ / kManifest, write_manifest(manifest));
}

std::optional<base::Error> SessionWriter::store_races(const Races& races) {
  return store_text(folder_ / kRaces, write_races(races));
}

std::optional<base::Error> SessionWriter::store_live_place(const LivePlace& place, const Manifest& manifest) {
  if (auto failure = store_text(folder_ / kRunningFile, write_manifest(manifest))) return failure;
  return store_text(folder_ / kArenaFile, write_live_place(place));
}

void SessionWriter::drop_live_place() {
  for (const char* live : {kArenaFile, kRunningFile}) ::unlinkat(lock_.get(), live, 0);
}

bool SessionWriter::holds(const char* name) const {
  struct stat status {};
  return ::fstatat(lock_.get(), name, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

std::optional<base::Error> SessionWriter::finish(const Retention& retention) {
  if (!holds(kManifest)) {
    // A session is still useful if it has a recording, or the files that were stored at the start of the run.
    if (is_blank(folder_) && !holds(kRunningFile)) discard();
    return base::Error{"the session " + folder_.string() + " could not be finished: it has no " + kManifest, ""};
  }
  drop_live_place();
  const fs::path target = final_folder();
  const std::string from = folder_.filename().string(), to = target.filename().string();
  if (!base::is_entry(lock_, root_fd_, from)) {
    return base::Error{"another program has moved the session's folder " + folder_.string() +
                           " away; the session is in the moved folder",
                       "choose a folder that only you can write to with -o FOLDER"};
  }
  if (::renameat(root_fd_.get(), from.c_str(), root_fd_.get(), to.c_str()) != 0) {
    return failed("rename the session", folder_, errno);
  }
  folder_ = target;
  point_latest_at(root_fd_, to);
  const fs::path root = base::path_through(root_fd_);
  if (!root_.asked_for) removed_ = retain(root, root / to, retention);
  return std::nullopt;
}

void SessionWriter::discard() {
  const std::string name = folder_.filename().string();
  if (base::is_entry(lock_, root_fd_, name)) remove_session(root_fd_.get(), name.c_str());
  // If the session was finished earlier, `latest` may point to it.
  mend_latest(root_fd_);
  if (root_.asked_for) return;
  for (const fs::path& other : sessions_in(base::path_through(root_fd_))) drop_left_launches(other);
}

void mend_latest(const fs::path& root) {
  mend_latest(base::FileDescriptor(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)));
}

}  // namespace cudadiag::session
