#include "session/session_folders.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <functional>
#include <string_view>
#include <utility>

#include "base/file_descriptor.h"
#include "base/plain_folder.h"
#include "base/text.h"
#include "session/session_files.h"

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
  } else if (home.starts_with('/')) {
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
  return std::none_of(entries.begin(), entries.end(),
                      [&](const fs::path& entry) { return fs::is_regular_file(fs::symlink_status(entry, error)); });
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
  if (name.ends_with(kIncomplete)) age.second = std::max(age.second, second_text(last_recorded(session)));
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
  std::sort(aged.begin(), aged.end(), std::greater<>());
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
  std::sort(found.begin(), found.end());
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
  if (::access(place.c_str(), W_OK | X_OK) == 0) return std::nullopt;
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

}  // namespace cudadiag::session
