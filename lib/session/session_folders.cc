#include "session/session_folders.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>
#include <utility>

#include "base/files.h"
#include "base/processes.h"
#include "base/text.h"
#include "session/session.h"
#include "session/session_files.h"
#include "wire/area.h"
#include "wire/rerun.h"

namespace cudadiag::session {
namespace {

namespace fs = std::filesystem;
using base::environment_value;

bool take_digits(std::string_view& text, std::size_t least, std::size_t most) {
  std::size_t n = 0;
  while (n < text.size() && n < most && std::isdigit(static_cast<unsigned char>(text[n])) != 0) ++n;
  if (n < least) return false;
  text.remove_prefix(n);
  return true;
}

bool take(std::string_view& text, std::string_view expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

// Returns when a process last began or stored a recording in the session, in seconds since the epoch; 0 if unknown.
std::time_t last_recorded(const fs::path& session) {
  const fs::path record = session / kRecordFolder;
  std::vector<fs::path> places = recordings_in(record);
  places.push_back(record);
  std::time_t last = 0;
  for (const fs::path& place : places) {
    struct stat status {};
    if (::lstat(place.c_str(), &status) == 0) last = std::max(last, status.st_mtim.tv_sec);
  }
  return last;
}

}  // namespace

std::vector<Root> roots(const std::optional<fs::path>& output) {
  if (output) return {{*output, true, ""}};
  std::vector<Root> found;
  const std::string own = environment_value("CUDADIAG_DIR");
  const std::string state = environment_value("XDG_STATE_HOME");
  const std::string home = environment_value("HOME");
  if (!own.empty()) {
    found.push_back({own, false, "", true});
  } else if (state.starts_with('/')) {
    found.push_back({fs::path(state) / "cudadiag", false, ""});
  } else if (std::error_code ignored; home.starts_with('/') && fs::is_directory(home, ignored)) {
    found.push_back({fs::path(home) / ".local/state/cudadiag", false, ""});
  }
  std::error_code error;
  const fs::path temporary = fs::temp_directory_path(error);
  if (!error) {
    const fs::path folder = temporary / ("cudadiag-" + std::to_string(::geteuid()));
    found.push_back({folder, false,
                     "sessions go to " + folder.string() +
                         ", which may vanish with the machine or container; choose a lasting folder with -o FOLDER or "
                         "CUDADIAG_DIR"});
  }
  return found;
}

std::vector<Root> roots_to_read(const std::optional<fs::path>& output) {
  std::vector<Root> found = roots(output);
  if (found.size() > 1 && found.front().by_variable && !obstacle_in(found.front())) found.resize(1);
  return found;
}

bool is_session_name(const std::string& name) {
  std::string_view rest = name;
  if (!take_digits(rest, 8, 8) || !take(rest, "-") || !take_digits(rest, 6, 6) || !take(rest, "-")) return false;
  if (!take_digits(rest, 1, 10)) return false;
  if (take(rest, "-") && !take_digits(rest, 1, 2)) return false;
  return rest.empty() || rest == kIncomplete;
}

bool holds_recording(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / kManifest, ignored) || fs::is_directory(folder / kRecordFolder, ignored);
}

namespace {

bool is_area(const fs::path& file) {
  const base::FileDescriptor descriptor = base::open_plain(file);
  std::uint64_t magic = 0;
  return ::pread(descriptor.get(), &magic, sizeof magic, 0) == sizeof magic && magic == wire::area::kMagicValue;
}

bool is_own_manifest(const fs::path& file) {
  const auto text = read_plain_file(file, kMostManifestBytes);
  return text && is_manifest(*text);
}

}  // namespace

bool is_of_process(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kSuffixes = {".area",
                                                                ".log",
                                                                wire::core_dump::kSuffix,
                                                                wire::core_dump::kPipeSuffix,
                                                                wire::core_dump::kRequestSuffix,
                                                                wire::delivery::kSuffix,
                                                                wire::delivery::kWatchedSuffix,
                                                                wire::unrecorded::kExtension};
  if (!take_digits(name, 1, name.size())) return false;
  while (name.starts_with('-')) {
    name.remove_prefix(1);
    if (!take_digits(name, 1, name.size())) return false;
  }
  return std::ranges::find(kSuffixes, name) != kSuffixes.end();
}

std::vector<fs::path> areas_in(const fs::path& folder) {
  std::vector<fs::path> areas = base::entries_of(folder);
  std::erase_if(areas, [](const fs::path& file) { return file.extension() != ".area"; });
  return areas;
}

bool has_own_content(const fs::path& folder) {
  if (is_own_manifest(folder / kManifest) || is_own_manifest(folder / kRunningFile)) return true;
  const auto is_own = [](const fs::path& file) {
    const bool mark = file.extension() == wire::unrecorded::kExtension && is_of_process(file.filename().string());
    return mark || (file.extension() == ".area" && is_area(file));
  };
  for (const fs::path& place : {folder / kRecordFolder, folder}) {
    const std::vector<fs::path> files = base::entries_of(place);
    if (std::ranges::any_of(files, is_own)) return true;
  }
  return false;
}

bool is_only_prepared(const fs::path& folder) {
  const std::vector<fs::path> entries = base::entries_of(folder);
  std::error_code error;
  return entries.size() == 1 && entries.front().filename() == kRecordFolder &&
         fs::is_directory(fs::symlink_status(entries.front(), error)) && base::entries_of(entries.front()).empty();
}

bool is_session(const fs::path& folder) {
  struct stat status {};
  const std::string name = folder.filename().string();
  if (!is_session_name(name) || ::lstat(folder.c_str(), &status) != 0) return false;
  if (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid()) return false;
  // At first, a session in progress contains only the record folder.
  const bool begun =
      name.ends_with(kIncomplete) && base::open_plain_folder(AT_FDCWD, (folder / kRecordFolder).c_str()).valid();
  return begun || has_own_content(folder);
}

bool is_blank(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder / kManifest, error)) return false;
  const std::vector<fs::path> entries = base::entries_of(folder / kRecordFolder);
  return std::ranges::none_of(
      entries, [&](const fs::path& entry) { return fs::is_regular_file(fs::symlink_status(entry, error)); });
}

std::string second_text(std::time_t time) { return base::utc_text(time, "%Y%m%d-%H%M%S"); }

SessionAge age_of(const fs::path& session) {
  constexpr std::size_t kSecond = 15;  // "20261121-101500"
  const std::string name = session.filename().string();
  SessionAge age{.second = name.substr(0, kSecond)};
  const char* const end = name.data() + name.size();
  const char* rest = name.data() + age.second.size();
  for (std::uint64_t* number : {&age.pid, &age.attempt}) {
    if (rest == end || *rest != '-') break;
    rest = std::from_chars(rest + 1, end, *number).ptr;
  }
  std::error_code error;
  struct statx birth {};
  if (name.ends_with(kIncomplete) && !fs::exists(session / kArenaFile, error)) {
    age.second = std::max(age.second, second_text(last_recorded(session)));
  }
  const bool has_birth = ::statx(AT_FDCWD, session.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BTIME, &birth) == 0;
  struct stat manifest {};
  const bool is_copy = ::stat((session / kManifest).c_str(), &manifest) == 0 &&
                       std::pair(birth.stx_btime.tv_sec, birth.stx_btime.tv_nsec + 0L) >
                           std::pair(manifest.st_mtim.tv_sec + 0LL, manifest.st_mtim.tv_nsec);
  if (has_birth && !is_copy) {
    // The folder may have been created in the second after the one that it is named after.
    for (const std::uint32_t later : {0u, 1u}) {
      if (second_text(birth.stx_btime.tv_sec - later) != age.second) continue;
      age.created = birth.stx_btime.tv_nsec + later * 1'000'000'000;
    }
  }
  age.is_latest = fs::read_symlink(session.parent_path() / kLatest, error) == name;
  return age;
}

std::vector<fs::path> sessions_in(const std::vector<Root>& roots) {
  std::vector<std::pair<SessionAge, fs::path>> aged;
  std::error_code error;
  for (const Root& root : roots) {
    for (fs::directory_iterator it(root.folder, error), end; !error && it != end; it.increment(error)) {
      if (is_session(it->path())) aged.emplace_back(age_of(it->path()), it->path());
    }
  }
  std::ranges::sort(aged, std::greater<>());
  std::vector<fs::path> sessions;
  for (auto& [age, session] : aged) sessions.push_back(std::move(session));
  return sessions;
}

std::vector<fs::path> sessions_in(const fs::path& root) {
  return sessions_in(std::vector<Root>{{root, false, "", false}});
}

std::vector<fs::path> recordings_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (it->is_symlink(ignored) || !it->is_directory(ignored)) continue;
    const bool closed = ::access(it->path().c_str(), R_OK | X_OK) != 0;
    const bool named = is_session_name(it->path().filename().string()) && (closed || holds_recording(it->path()));
    if (named || has_own_content(it->path())) found.push_back(it->path());
  }
  std::ranges::sort(found);
  return found;
}

std::optional<base::Error> obstacle_in(const Root& root) {
  const std::string another = "choose a different folder with CUDADIAG_DIR or -o FOLDER";
  std::error_code error;
  const fs::path folder = fs::absolute(root.folder, error);
  // Finds the folder or, if it is missing, its nearest existing parent.
  fs::path place = folder;
  struct stat status {};
  while (::lstat(place.c_str(), &status) != 0 && place.has_relative_path()) {
    if (errno != ENOENT) return base::Error{place.string() + " cannot be used: " + std::strerror(errno), another};
    place = place.parent_path();
  }
  if (!fs::is_directory(place, error)) return base::Error{place.string() + " is not a folder", another};
  const bool shared = place == folder && !root.warning.empty();
  if (shared && (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid())) {
    return base::Error{place.string() + " belongs to another user", another};
  }
  // root may write to /proc, but nobody can create a folder there.
  struct statvfs disk {};
  const bool stores_files = ::statvfs(place.c_str(), &disk) != 0 || disk.f_blocks > 0 || disk.f_files > 0;
  if (stores_files && ::access(place.c_str(), W_OK | X_OK) == 0) return std::nullopt;
  const std::string what = place == folder
                               ? place.string() + " is not writable"
                               : folder.string() + " cannot be created: " + place.string() + " is not writable";
  return base::Error{what, (status.st_uid == ::geteuid() ? "make it writable, or " : "") + another};
}

bool is_being_written(const fs::path& folder) {
  const base::FileDescriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  return !descriptor.valid() || ::flock(descriptor.get(), LOCK_SH | LOCK_NB) != 0;
}

std::filesystem::path present_folder(const std::filesystem::path& folder) {
  std::error_code error;
  const std::filesystem::path running = folder.string() + kIncomplete;
  return !std::filesystem::exists(folder, error) && std::filesystem::exists(running, error) ? running : folder;
}

fs::path finished_name(const fs::path& folder) {
  const std::string name = folder.string(), suffix = kIncomplete;
  return name.ends_with(suffix) ? name.substr(0, name.size() - suffix.size()) : name;
}

bool run_goes_on(const fs::path& folder) {
  return folder.filename().string().ends_with(kIncomplete) && is_being_written(folder);
}

namespace {

constexpr std::uint64_t kLongest = 128;

// If `lives` is true, returns the newest session whose launcher is still running. Otherwise, returns the newest session
// whose recording was lost because its launcher was killed.
std::optional<fs::path> newest_held(const std::vector<Root>& roots, bool lives) {
  std::optional<fs::path> newest;
  for (const Root& root : roots) {
    for (const fs::path& session : sessions_in(root.folder)) {
      if (lives ? !run_goes_on(session) : !was_lost(session)) continue;
      if (!newest || age_of(session) > age_of(*newest)) newest = session;
      break;  // sessions_in() returns the newest first
    }
  }
  return newest;
}

// Returns whether the process maps the memory file with this inode. A line of /proc/PID/maps looks like this:
// "7f0c14000000-7f0c18000000 rw-s 00001000 00:01 4711   /memfd:cudadiag-arena (deleted)".
bool maps(const std::string& process, std::uint64_t inode) {
  std::ifstream file("/proc/" + process + "/maps");
  for (std::string line; std::getline(file, line);) {
    if (line.find(" /memfd:cudadiag-arena") == std::string::npos) continue;
    std::istringstream fields(line);
    std::string range, access, offset, device;
    std::uint64_t found = 0;
    if (fields >> range >> access >> offset >> device >> found && found == inode) return true;
  }
  return false;
}

}  // namespace

std::string write_live_place(const LivePlace& place) {
  return std::to_string(place.pid) + ' ' + std::to_string(place.descriptor) + ' ' + std::to_string(place.inode) + '\n';
}

std::optional<LivePlace> parse_live_place(std::string_view text) {
  LivePlace place;
  if (!base::take_number(text, place.pid, ' ') || !base::take_number(text, place.descriptor, ' ') ||
      !base::take_number(text, place.inode, '\n') || !text.empty()) {
    return std::nullopt;
  }
  if (place.pid == 0 || place.pid > INT_MAX || place.descriptor < 0) return std::nullopt;
  return place;
}

std::optional<LivePlace> live_place(const fs::path& session) {
  const auto text = read_plain_file(session / kArenaFile, kLongest);
  return text ? parse_live_place(*text) : std::nullopt;
}

bool was_lost(const fs::path& session) {
  std::error_code ignored;
  return session.filename().string().ends_with(kIncomplete) && fs::exists(session / kArenaFile, ignored) &&
         !fs::exists(session / kManifest, ignored) && !is_being_written(session);
}

bool is_held_by(const LivePlace& place, std::uint32_t pid) { return maps(std::to_string(pid), place.inode); }

std::vector<std::uint32_t> holders_of(const LivePlace& place) {
  std::vector<std::uint32_t> found;
  for (const pid_t process : base::all_processes()) {
    const auto pid = static_cast<std::uint32_t>(process);
    if (is_held_by(place, pid)) found.push_back(pid);
  }
  std::ranges::sort(found);
  return found;
}

std::optional<fs::path> newest_live(const std::vector<Root>& roots) { return newest_held(roots, true); }

std::optional<fs::path> newest_lost(const std::vector<Root>& roots) { return newest_held(roots, false); }

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
      if (base::is_for_lack_of_room(unrecorded.error)) {
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

}  // namespace cudadiag::session
