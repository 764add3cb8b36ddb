#include "session/retention.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <string_view>
#include <system_error>

#include "base/files.h"
#include "session/saved_results.h"
#include "session/session_folders.h"
#include "session/session_reader.h"
#include "wire/name_patterns.h"
#include "wire/pass_files.h"
#include "wire/rerun.h"
#include "wire/saved_launch.h"

namespace cudadiag::session {
namespace {

namespace fs = std::filesystem;

using wire::library_paths::equals_any;

constexpr std::string_view kDraft = ".new";

// The kinds of folders in a session. The kind determines which files cudadiag writes there.
enum class Level { session, pass, inputs, launch, modules, python };

bool take_number(std::string_view& text) {
  std::size_t digits = 0;
  while (digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits])) != 0) ++digits;
  text.remove_prefix(digits);
  return digits > 0;
}

// Matches "record" and "confirm-2".
bool is_pass(std::string_view name) {
  const std::size_t dash = name.find('-');
  std::string_view rest = name.substr(std::min(dash, name.size()));
  if (!pass_kind(name.substr(0, dash))) return false;
  if (rest.empty()) return true;
  rest.remove_prefix(1);
  return take_number(rest) && rest.empty();
}

// Matches "00c0ffee00c0ffee.cubin". While the file is being written, its name also contains a thread's number.
bool is_module(std::string_view name) {
  constexpr std::size_t kHash = 16;
  const auto is_hex = [](unsigned char c) { return std::isxdigit(c) != 0; };
  if (name.size() <= kHash || !std::all_of(name.begin(), name.begin() + kHash, is_hex)) return false;
  std::string_view rest = name.substr(kHash);
  if (rest == ".cubin") return true;
  if (!rest.starts_with('.')) return false;
  rest.remove_prefix(1);
  return take_number(rest) && rest.empty();
}

bool is_of_launch(std::string_view name) {
  constexpr std::string_view kNames[] = {wire::saved_launch::kDescription,
                                         wire::saved_launch::kImage,
                                         kReplayTallyFile,
                                         "launch.json",
                                         "README.md",
                                         "replay.cc"};
  constexpr std::string_view kMemory = wire::saved_launch::kMemoryPrefix;
  if (equals_any(name, kNames)) return true;
  if (!name.starts_with(kMemory)) return false;
  name.remove_prefix(kMemory.size());
  return take_number(name) && name.empty();
}

bool is_own_file(Level level, std::string_view name) {
  constexpr std::string_view kOfSession[] = {kManifest, kRaces, kSummary, kKept, kArenaFile, kRunningFile};
  constexpr std::string_view kOfPass[] = {kOutputFile,    kDebuggerFile,      kCodeFile, kKernelCodeFile, kCreatedFile,
                                          kSanitizerFile, kPassingLaunchFile, kRaces,    "dump.gpucore"};
  constexpr std::string_view kOfInputs[] = {"call.json", "inputs.safetensors", kReplayScriptFile, kOutputFile};
  if (name.ends_with(kDraft)) name.remove_suffix(kDraft.size());
  switch (level) {
    case Level::session:
      return equals_any(name, kOfSession) || is_of_process(name);
    case Level::pass:
      return equals_any(name, kOfPass) || is_of_process(name);
    case Level::inputs:
      return equals_any(name, kOfInputs);
    case Level::launch:
      return is_of_launch(name);
    case Level::modules:
      return is_module(name);
    case Level::python:
      return name == "sitecustomize.py" || name.ends_with(".txt") || name.ends_with(".pyc");
  }
  return false;
}

// Returns false if cudadiag never creates a folder with this name here. Otherwise, sets `inner` to the kind of the
// folder.
bool is_own_folder(Level level, std::string_view name, Level& inner) {
  if (level == Level::session && is_pass(name)) return inner = Level::pass, true;
  if (level == Level::python && name == "__pycache__") return inner = Level::python, true;
  if (level != Level::pass) return false;
  if (name == kPythonFolder) return inner = Level::python, true;
  if (name == kModulesFolder) return inner = Level::modules, true;
  constexpr std::string_view kLaunch = wire::saved_launch::kFolderPrefix;
  if (name.starts_with(kLaunch)) {
    name.remove_prefix(kLaunch.size());
    return inner = Level::launch, take_number(name) && name.empty();
  }
  inner = Level::inputs;
  return take_number(name) && name == wire::delivery::kInputsSuffix;
}

bool is_folder(int parent, const char* name) {
  struct stat status {};
  return ::fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
}

// The depth of the recursion is limited, because only folders that cudadiag creates are visited.
void remove_own(const base::FileDescriptor& folder, Level level) {
  for (const std::string& name : base::names_in(folder)) {
    Level inner{};
    if (!is_folder(folder.get(), name.c_str())) {
      if (is_own_file(level, name)) ::unlinkat(folder.get(), name.c_str(), 0);
    } else if (is_own_folder(level, name, inner)) {
      remove_own(base::open_plain_folder(folder.get(), name.c_str()), inner);
      ::unlinkat(folder.get(), name.c_str(), AT_REMOVEDIR);  // fails if something is left in it
    }
  }
}

}  // namespace

bool remove_session(int root, const char* name) {
  const base::FileDescriptor folder = base::open_plain_folder(root, name);
  if (!folder.valid()) return false;
  remove_own(folder, Level::session);
  return ::unlinkat(root, name, AT_REMOVEDIR) == 0;
}

bool remove_session(const fs::path& folder) {
  const base::FileDescriptor root(::open(folder.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  return root.valid() && remove_session(root.get(), folder.filename().c_str());
}

void drop_passing_launches(const base::FileDescriptor& session) {
  Level level{};
  for (const std::string& pass : base::names_in(session)) {
    if (!is_own_folder(Level::session, pass, level)) continue;
    const base::FileDescriptor folder = base::open_plain_folder(session.get(), pass.c_str());
    if (::faccessat(folder.get(), kPassingLaunchFile, F_OK, AT_SYMLINK_NOFOLLOW) != 0) continue;
    for (const std::string& name : base::names_in(folder)) {
      if (!is_own_folder(Level::pass, name, level) || level != Level::launch) continue;
      remove_own(base::open_plain_folder(folder.get(), name.c_str()), level);
      ::unlinkat(folder.get(), name.c_str(), AT_REMOVEDIR);
    }
    ::unlinkat(folder.get(), kPassingLaunchFile, 0);
  }
}

bool drop_left_launches(const fs::path& session) {
  const base::FileDescriptor folder = base::open_plain_folder(AT_FDCWD, session.c_str());
  if (!folder.valid() || ::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) return false;
  drop_passing_launches(folder);
  return true;
}

namespace {

using std::chrono::hours;

constexpr std::chrono::seconds kUnusedFor = hours(24);
// A process on a different machine is considered gone if its files have not been written for this long. cudadiag can
// see nothing of the process except its files.
constexpr std::chrono::seconds kUnseenFor = hours(24);

// Returns the space that the folder takes on disk. Areas are sparse, so the sizes of their files are too large.
std::uintmax_t bytes_on_disk(const fs::path& folder) {
  std::uintmax_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    struct stat status {};
    if (::lstat(it->path().c_str(), &status) == 0) bytes += static_cast<std::uintmax_t>(status.st_blocks) * 512;
  }
  return bytes;
}

bool written_since(const fs::path& path, std::chrono::seconds ago) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && status.st_mtim.tv_sec > std::time(nullptr) - ago.count();
}

// Returns whether a process without a launcher may still be recording to the folder. Unlike a launcher, such a process
// does not lock the folder.
bool is_recorded_to(const fs::path& folder) {
  if (!folder.filename().string().ends_with(kIncomplete)) return false;
  Session session;
  const std::vector<fs::path> areas = areas_in(folder / kRecordFolder);
  if (areas.size() > kMostAreas) return true;  // the process may have any of them, and reading all takes too long
  read_areas(areas, session, session.processes);
  const auto may_live = [&](const Process& process) {
    const auto recent = [](const fs::path& area) { return written_since(area, kUnseenFor); };
    return lives(folder, process.record).value_or(std::ranges::any_of(areas, recent));
  };
  return std::ranges::any_of(session.processes, may_live);
}

void remove_if_unused(const fs::path& folder) {
  if (is_only_prepared(folder) && !written_since(folder, kUnusedFor)) remove_session(folder);
}

}  // namespace

bool keep(const fs::path& session) {
  const base::FileDescriptor mark(
      ::open((session / kKept).c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
  return mark.valid();
}

bool unkeep(const fs::path& session) {
  const base::FileDescriptor folder = base::open_plain_folder(AT_FDCWD, session.c_str());
  return folder.valid() && (::unlinkat(folder.get(), kKept, 0) == 0 || errno == ENOENT);
}

bool is_kept(const fs::path& session) {
  struct stat status {};
  return ::lstat((session / kKept).c_str(), &status) == 0;
}

std::vector<std::string> retain(const fs::path& root, const fs::path& newest, const Retention& keep) {
  // The newest session counts as one of the sessions to keep, but its size does not count towards the limit on bytes.
  std::size_t sessions = 1;
  std::vector<std::string> removed;
  std::uintmax_t bytes = 0;
  for (const fs::path& folder : sessions_in(root)) {
    if (folder == newest || !drop_left_launches(folder) || is_kept(folder)) continue;
    if (is_blank(folder)) {
      remove_if_unused(folder);
      continue;
    }
    const std::uintmax_t size = bytes_on_disk(folder);
    if (sessions < keep.sessions && bytes + size <= keep.bytes) {
      ++sessions;
      bytes += size;
    } else if (has_own_content(folder) && !is_recorded_to(folder)) {
      remove_session(folder);
      removed.push_back(folder.filename().string());
    }
  }
  return removed;
}

}  // namespace cudadiag::session
