#include "session/session_folders.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <string_view>
#include <utility>

#include "session/file_descriptor.h"
#include "session/process_life.h"
#include "session/session_reader.h"

namespace cudadiag::session {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;

// A shell that has taken over what `cudadiag env` prints may be that old before its first program fails.
constexpr std::chrono::seconds kBlankFor = hours(7 * 24);
// On another machine nobody can be seen to live, but for what was written.
constexpr std::chrono::seconds kUnseenFor = hours(24);

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

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

// The space that the folder takes on disk: areas are sparse, so their sizes say nothing.
std::uintmax_t bytes_on_disk(const fs::path& folder) {
  std::uintmax_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    struct stat status {};
    if (::lstat(it->path().c_str(), &status) == 0) bytes += static_cast<std::uintmax_t>(status.st_blocks) * 512;
  }
  return bytes;
}

std::vector<fs::path> areas_in(const fs::path& folder) {
  std::vector<fs::path> areas;
  std::error_code error;
  for (fs::directory_iterator it(folder / kRecordFolder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".area") areas.push_back(it->path());
  }
  return areas;
}

bool written_since(const fs::path& path, std::chrono::seconds ago) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && status.st_mtim.tv_sec > std::time(nullptr) - ago.count();
}

// By processes without a launcher, which hold no lock on it.
bool is_recorded_to(const fs::path& folder) {
  if (!folder.filename().string().ends_with(kIncomplete)) return false;
  Session session;
  const std::vector<fs::path> areas = areas_in(folder);
  read_areas(areas, session, session.processes);
  const auto may_live = [&](const Process& process) {
    const auto recent = [](const fs::path& area) { return written_since(area, kUnseenFor); };
    return lives(folder, process.record).value_or(std::any_of(areas.begin(), areas.end(), recent));
  };
  return std::any_of(session.processes.begin(), session.processes.end(), may_live);
}

}  // namespace

std::vector<Root> roots(const std::optional<fs::path>& output) {
  if (output) return {{*output, true, ""}};
  std::vector<Root> found;
  const std::string own = variable("CUDADIAG_DIR");
  const std::string state = variable("XDG_STATE_HOME");
  const std::string home = variable("HOME");
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
                         ", which may vanish with the machine or container; name a lasting folder with -o FOLDER or "
                         "CUDADIAG_DIR"});
  }
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
  if (!is_session_name(folder.filename().string()) || ::lstat(folder.c_str(), &status) != 0) return false;
  return S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() && holds_recording(folder);
}

bool is_blank(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder / kManifest, error)) return false;
  for (fs::directory_iterator it(folder / kRecordFolder, error), end; !error && it != end; it.increment(error)) {
    if (it->is_regular_file(error)) return false;
  }
  return true;
}

std::pair<std::string, fs::file_time_type> age_of(const fs::path& session) {
  constexpr std::size_t kSecond = 15;  // "20261121-101500"
  std::error_code error;
  const auto written = fs::last_write_time(session, error);
  return {session.filename().string().substr(0, kSecond), error ? fs::file_time_type::min() : written};
}

std::vector<fs::path> sessions_in(const std::vector<Root>& roots) {
  // A session that is being written changes its time meanwhile.
  std::vector<std::pair<std::pair<std::string, fs::file_time_type>, fs::path>> aged;
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
    const bool named = is_session_name(it->path().filename().string()) && holds_recording(it->path());
    if (named || !areas_in(it->path()).empty()) found.push_back(it->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::optional<Failure> obstacle_in(const Root& root) {
  const std::string another = "name another folder with CUDADIAG_DIR or -o FOLDER";
  std::error_code error;
  const fs::path folder = fs::absolute(root.folder, error);
  // The folder itself, or the nearest above it that there is.
  fs::path place = folder;
  struct stat status {};
  while (::lstat(place.c_str(), &status) != 0 && place.has_relative_path()) {
    if (errno != ENOENT) return Failure{place.string() + " cannot be used: " + std::strerror(errno), another};
    place = place.parent_path();
  }
  if (!fs::is_directory(place, error)) return Failure{place.string() + " is not a folder", another};
  const bool shared = place == folder && !root.warning.empty();
  if (shared && (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid())) {
    return Failure{place.string() + " belongs to somebody else", another};
  }
  if (::access(place.c_str(), W_OK | X_OK) == 0) return std::nullopt;
  const std::string what = place == folder
                               ? place.string() + " cannot be written"
                               : folder.string() + " cannot be made: " + place.string() + " cannot be written";
  return Failure{what, (status.st_uid == ::geteuid() ? "make it writable, or " : "") + another};
}

bool is_being_written(const fs::path& folder) {
  const FileDescriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  return !descriptor.valid() || ::flock(descriptor.get(), LOCK_EX | LOCK_NB) != 0;
}

fs::path finished_name(const fs::path& folder) {
  const std::string name = folder.string(), suffix = kIncomplete;
  return name.ends_with(suffix) ? name.substr(0, name.size() - suffix.size()) : name;
}

bool run_goes_on(const fs::path& folder) {
  return folder.filename().string().ends_with(kIncomplete) && is_being_written(folder);
}

void retain(const fs::path& root, const fs::path& newest, const Retention& keep) {
  std::error_code ignored;
  // The newest one costs the others a place, but no bytes, however large it is.
  std::size_t sessions = 1;
  std::uintmax_t bytes = 0;
  for (const fs::path& folder : sessions_in(root)) {
    if (folder == newest || is_being_written(folder)) continue;
    if (is_blank(folder)) {
      if (!written_since(folder, kBlankFor)) fs::remove_all(folder, ignored);
      continue;
    }
    const std::uintmax_t size = bytes_on_disk(folder);
    if (sessions < keep.sessions && bytes + size <= keep.bytes) {
      ++sessions;
      bytes += size;
    } else if (!is_recorded_to(folder)) {
      fs::remove_all(folder, ignored);
    }
  }
}

}  // namespace cudadiag::session
