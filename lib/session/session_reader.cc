#include "session/session_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <span>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "session/area_reader.h"
#include "session/full_log.h"
#include "session/process_record.h"
#include "session/session.h"
#include "session/session_files.h"
#include "wire/rerun.h"

namespace cudadiag::session {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> split_at_zeros(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\0', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// The number of areas in all reruns together. A forged session may also contain many reruns.
constexpr std::size_t kMostAreasOfReruns = 4 * kMostAreas;

std::vector<fs::path> area_files(const std::vector<fs::path>& folders) {
  std::vector<fs::path> files;
  for (const fs::path& folder : folders) {
    for (fs::path& area : areas_in(folder)) files.push_back(std::move(area));
  }
  std::ranges::sort(files);
  return files;
}

void note_surplus(std::size_t surplus, std::size_t most, const char* where, Session& session) {
  if (surplus == 0) return;
  session.manifest.notes.push_back(std::to_string(surplus) + (surplus == 1 ? " recording was" : " recordings were") +
                                   " ignored: cudadiag reads at most " + std::to_string(most) + where);
  session.whole = false;
}

// Links are ignored, because a link may have replaced a folder of the session.
bool is_link(const fs::path& path) {
  std::error_code error;
  return fs::is_symlink(path, error);
}

void leave_links_out(Session& session) {
  std::vector<std::string> links;
  if (is_link(session.folder / kRecordFolder)) links.emplace_back(kRecordFolder);
  for (Pass& pass : session.manifest.passes) {
    if (pass.folder.empty() || !is_link(session.folder / pass.folder)) continue;
    if (pass.folder != kRecordFolder) links.push_back(pass.folder);
    pass.folder.clear();
  }
  for (const std::string& link : links) {
    session.manifest.notes.push_back(link + " was ignored: it is a link to another folder");
    session.whole = false;
  }
}

base::Result<Manifest> read_manifest(const fs::path& file) {
  const auto text = read_plain_file(file, kMostManifestBytes);
  if (text) return parse_manifest(*text);
  std::error_code error;
  const bool is_file = fs::is_regular_file(fs::symlink_status(file, error));
  const auto size = is_file ? fs::file_size(file, error) : 0;
  if (!error && size > kMostManifestBytes) {
    return base::Error{"it is larger than " + std::to_string(kMostManifestBytes >> 20) + " MiB", kMoveManifestAway};
  }
  return base::Error{"it cannot be read, or is not a regular file", kMoveManifestAway};
}

std::optional<Races> read_races(const fs::path& file) {
  const auto text = read_plain_file(file, kMostManifestBytes);
  return text ? parse_races(*text) : std::nullopt;
}

std::vector<KernelCode> read_kernel_code(const fs::path& file) {
  const auto text = read_plain_file(file, kMostManifestBytes);
  auto codes = text ? parse_kernel_code(*text) : std::nullopt;
  return codes ? std::move(*codes) : std::vector<KernelCode>();
}

// Returns the path, without links, of the newest session that has a recording or a manifest, even if it had no launcher
// or its launcher was killed.
std::optional<fs::path> newest_begun(const fs::path& root) {
  std::error_code error;
  for (const fs::path& session : sessions_in(root)) {
    const fs::path record = session / kRecordFolder;
    const bool begun = !area_files({record, session}).empty() || unrecorded_in(record).processes > 0;
    if (!begun && !fs::exists(session / kManifest, error)) continue;
    fs::path place = fs::canonical(session, error);
    if (!error) return place;
  }
  return std::nullopt;
}

// Finds a session by its number in `cudadiag list`, such as "3". Returns nullopt for text that is not such a number,
// and an error for a number that is too large. A longer number is taken as the beginning of a session's name.
std::optional<base::Result<fs::path>> by_number(const std::vector<Root>& roots, std::string_view wanted) {
  constexpr std::size_t kMostDigits = 3;
  const auto number = base::whole_number<std::size_t>(wanted);
  if (!number || wanted.size() > kMostDigits) return std::nullopt;
  const std::vector<fs::path> sessions = listed_in(roots);
  if (*number >= 1 && *number <= sessions.size()) return sessions[*number - 1];
  return base::Error{"session " + std::string(wanted) + " does not exist: " +
                         (sessions.empty()       ? "there are no sessions"
                          : sessions.size() == 1 ? "there is only 1 session"
                                                 : "there are only " + std::to_string(sessions.size()) + " sessions"),
                     "run: cudadiag list"};
}

// Finds the session whose name begins with this text, such as "20261126-1015". A session that `cudadiag list` omits
// must not make the name of a listed one ambiguous.
std::optional<base::Result<fs::path>> by_prefix(const std::vector<Root>& roots, const std::string& wanted) {
  const auto matching = [&](std::vector<fs::path> sessions) {
    std::erase_if(sessions, [&](const fs::path& each) { return !each.filename().string().starts_with(wanted); });
    return sessions;
  };
  std::vector<fs::path> meant = matching(listed_in(roots));
  if (meant.empty()) meant = matching(sessions_in(roots));
  if (meant.empty()) return std::nullopt;
  if (meant.size() == 1) return meant.front();
  return base::Error{std::to_string(meant.size()) + " session names begin with " + wanted + "; the newest is " +
                         meant.front().filename().string(),
                     "choose one by its number in cudadiag list"};
}

// Returns the session at this path: the folder itself or, if it is a folder for sessions (-o), the newest session in
// it.
fs::path session_at(const fs::path& folder) {
  if (holds_recording(folder)) return folder;
  const auto sessions = sessions_in(folder);
  return sessions.empty() ? folder : sessions.front();
}

}  // namespace

std::optional<base::Error> unreadable(const fs::path& path) {
  struct stat status {};
  const bool hidden = ::stat(path.c_str(), &status) != 0 && errno == EACCES;
  const bool is_folder = S_ISDIR(status.st_mode), is_file = S_ISREG(status.st_mode);
  const bool closed =
      (is_folder || is_file) && ::access(path.c_str(), is_folder ? R_OK | X_OK : R_OK) != 0 && errno == EACCES;
  if (!closed && !hidden) return std::nullopt;
  if (closed && status.st_uid == ::geteuid()) {
    return base::Error{path.string() + " cannot be read: its owner has no read permission",
                       (is_folder ? "run: chmod u+rx " : "run: chmod u+r ") + path.string()};
  }
  return base::Error{path.string() + " cannot be read: it belongs to another user",
                     "read it as the user who ran the program"};
}

namespace {

std::string why_not_listed(const fs::path& root, const fs::path& recording) {
  struct stat status {};
  const bool known = ::lstat(recording.c_str(), &status) == 0;
  if (known && status.st_uid != ::geteuid()) {
    return "the sessions in " + root.string() + " belong to another user (uid " + std::to_string(status.st_uid) + ")";
  }
  return "the sessions in " + root.string() + " do not have the names that cudadiag gives them";
}

}  // namespace

std::optional<base::Error> obstacle_to_reading(const std::vector<Root>& roots) {
  for (const Root& root : roots) {
    if (auto failure = unreadable(root.folder)) return failure;
    const std::string name = (root.by_variable ? "CUDADIAG_DIR names " : "") + root.folder.string();
    const std::string remedy = root.by_variable ? "correct it, or give the folder of the sessions with -o FOLDER"
                                                : "give the folder of the sessions with -o FOLDER or CUDADIAG_DIR";
    struct stat status {};
    if (::stat(root.folder.c_str(), &status) == 0) {
      if (!S_ISDIR(status.st_mode))
        return base::Error{name + (root.by_variable ? ", which" : "") + " is not a folder", remedy};
    } else if (errno != ENOENT) {
      return base::Error{name + (root.by_variable ? ", which" : "") + " cannot be read: " + std::strerror(errno),
                         remedy};
    } else if (root.by_variable) {
      if (const auto obstacle = obstacle_in(root)) {
        return base::Error{"CUDADIAG_DIR cannot be used: " + obstacle->what, remedy};
      }
      return base::Error{
          name + ", which does not exist",
          "cudadiag run creates it; if the name is wrong, correct it, or give the folder of the sessions "
          "with -o FOLDER"};
    }
    // A session of another user is never chosen as the newest. It is mentioned only if the folder has no session of
    // this user.
    const bool is_fallback = !root.warning.empty();
    if (is_fallback || !sessions_in(root.folder).empty()) continue;
    if (holds_recording(root.folder)) {
      return base::Error{root.folder.string() + " is a session, not a folder of sessions",
                         "to read it: cudadiag report " + root.folder.string()};
    }
    if (const auto others = recordings_in(root.folder); !others.empty()) {
      return base::Error{why_not_listed(root.folder, others.back()),
                         "give the path of one, such as " + others.back().string()};
    }
  }
  return std::nullopt;
}

std::optional<base::Error> misnamed(const std::vector<Root>& roots) {
  std::error_code error;
  const bool wrong = !roots.empty() && roots.front().by_variable && !fs::exists(roots.front().folder, error) &&
                     !obstacle_in(roots.front());
  return wrong ? obstacle_to_reading(roots) : std::nullopt;
}

base::Result<fs::path> find_session(const std::vector<Root>& roots, const std::string& given) {
  std::error_code error;
  // Removes the trailing slash that shells add when they complete a folder name.
  const std::string wanted = given.substr(0, std::max<std::size_t>(given.find_last_not_of('/') + 1, 1));
  if (!wanted.empty() && wanted != kLatest) {
    // A number that `cudadiag list` shows selects that session, even if a file here has the same name.
    const auto numbered = by_number(roots, given);
    if (numbered && std::holds_alternative<fs::path>(*numbered)) return *numbered;
    std::vector<fs::path> places = {wanted};
    for (const Root& root : roots) {
      if (is_session_name(wanted)) places.push_back(root.folder / wanted);
    }
    for (const fs::path& place : places) {
      if (auto failure = unreadable(place)) return *failure;
      if (fs::is_directory(place, error)) return session_at(place);
      // Reports that are printed during the run show the path without ".incomplete".
      const fs::path incomplete = place.string() + kIncomplete;
      if (fs::is_directory(incomplete, error)) return incomplete;
    }
    if (fs::exists(wanted, error)) {
      const bool is_program = ::access(wanted.c_str(), X_OK) == 0;
      return base::Error{
          wanted + " is not a folder, so it is not a session",
          is_program ? "to run a program: cudadiag run -- " + wanted : "to list all sessions: cudadiag list"};
    }
    if (auto found = by_number(roots, wanted)) return *found;
    if (auto found = by_prefix(roots, wanted)) return *found;
    const std::string name = fs::path(wanted).filename().string();
    if (is_session_name(name) && name.ends_with(kIncomplete)) {
      return base::Error{"session " + wanted + " has no recording",
                         "a process that the run left writes one only if it uses CUDA"};
    }
    const auto obstacle = is_session_name(wanted) ? obstacle_to_reading(roots) : std::nullopt;
    return obstacle.value_or(
        base::Error{"session " + wanted + " does not exist", "to list all sessions: cudadiag list"});
  }
  if (auto failure = misnamed(roots)) return *failure;
  std::optional<fs::path> newest;
  for (const Root& root : roots) {
    const auto found = newest_begun(root.folder);
    if (found && (!newest || age_of(*found) > age_of(*newest))) newest = found;
  }
  if (newest) return *newest;
  if (const auto unused = newest_unused(roots)) {
    return base::Error{finished_name(*unused).string() + ": " + why_unused(*unused), "see cudadiag doctor"};
  }
  return obstacle_to_reading(roots).value_or(
      base::Error{"no session was found", "cudadiag run -- COMMAND keeps one if something fails"});
}

bool is_unused(const fs::path& folder) {
  std::error_code error;
  return folder.filename().string().ends_with(kIncomplete) && fs::is_directory(folder / kRecordFolder, error) &&
         std::distance(fs::directory_iterator(folder, error), {}) == 1 && is_blank(folder) && !run_goes_on(folder);
}

std::optional<fs::path> newest_unused(const std::vector<Root>& roots) {
  for (const fs::path& session : sessions_in(roots)) {
    if (is_unused(session)) return session;
  }
  return std::nullopt;
}

std::vector<fs::path> listed_in(const std::vector<Root>& roots) {
  std::vector<fs::path> sessions = sessions_in(roots);
  std::erase_if(sessions, [](const fs::path& each) { return is_unused(each) && !obstacle_to_recording(each); });
  return sessions;
}

namespace {

// Reads the processes and races of every pass after the first.
void read_reruns(Session& session) {
  std::size_t room = kMostAreasOfReruns, surplus = 0;
  for (std::size_t pass = 1; pass < session.manifest.passes.size(); ++pass) {
    const std::string& name = session.manifest.passes[pass].folder;
    auto& processes = session.reruns.emplace_back();
    auto& races = session.rerun_races.emplace_back();
    if (name.empty()) continue;
    races = read_races(session.folder / name / kRaces);
    auto of_pass = area_files({session.folder / name});
    const std::size_t most = std::min(room, of_pass.size());
    surplus += of_pass.size() - most;
    room -= most;
    of_pass.resize(most);
    read_areas(of_pass, session, processes);
    attach_hook_output(session.folder / name, processes);
  }
  note_surplus(surplus, kMostAreasOfReruns, " of all reruns", session);
}

// Adds a note with the reason why the session was not finished. `has_areas` is true if anything was recorded.
void describe_without_manifest(Session& session, bool has_areas) {
  const fs::path& folder = session.folder;
  const Unrecorded left = unrecorded_in(folder / kRecordFolder);
  auto& notes = session.manifest.notes;
  if (left.processes > 0) {
    const base::Error failure = nothing_recorded_of(left);
    notes.push_back(failure.what + "; " + failure.hint);
  }
  if (was_lost(folder) && !has_areas) {
    notes.emplace_back("cudadiag run was killed, and the recording is lost");
  } else if (is_unused(folder)) {
    notes.push_back(why_unused(folder));
  } else if (!run_goes_on(folder)) {
    notes.emplace_back(
        "the session was recorded without cudadiag run, or cudadiag run was killed, so how its programs ended is "
        "unknown");
  }
  session.whole = has_areas && left.processes == 0;
}

// Without a launcher, a process removes the recordings of earlier ones (record/output/area_cleanup.h).
void describe_removed(Session& session) {
  std::uint64_t removed = 0;
  for (const Process& process : session.processes) removed = std::max(removed, process.record.earlier_removed);
  if (removed == 0) return;
  session.manifest.notes.push_back((removed == 1
                                        ? "the recording of 1 earlier process was"
                                        : "the recordings of " + std::to_string(removed) + " earlier processes were") +
                                   std::string(" removed to save disk space"));
  session.whole = false;
}

}  // namespace

base::Result<Session> open_session(const fs::path& folder, std::optional<wire::ClockReading> now) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return base::Error{folder.string() + " is not a readable folder", "cudadiag list shows the existing sessions"};
  }
  for (const fs::path& part : {folder, folder / kManifest, folder / kRecordFolder}) {
    if (auto failure = unreadable(part)) return *failure;
  }
  Session session;
  session.folder = folder;
  auto files = area_files({folder / kRecordFolder, folder});
  const bool goes_on = run_goes_on(folder), lost = was_lost(folder) && files.empty();
  const bool unused = is_unused(folder);
  if (fs::exists(folder / kManifest, error)) {
    auto manifest = read_manifest(folder / kManifest);
    if (auto* failure = std::get_if<base::Error>(&manifest)) {
      return base::Error{"cannot use " + (folder / kManifest).string() + ": " + failure->what, failure->hint};
    }
    session.manifest = std::move(std::get<Manifest>(manifest));
    session.whole = session.manifest.whole;
  } else if (files.empty() && !fs::is_directory(folder / kRecordFolder, error)) {
    return base::Error{folder.string() + " is not a cudadiag session", "cudadiag list shows the existing sessions"};
  } else {
    describe_without_manifest(session, !files.empty());
  }
  if (folder.filename().string().ends_with(kIncomplete) && !lost && !unused) {
    session.manifest.notes.push_back(goes_on ? "its run has not ended; to see its state: cudadiag status " +
                                                   finished_name(folder).string()
                                             : "the session is incomplete: its run has not ended, or was killed");
    session.whole = false;
  }
  leave_links_out(session);
  read_areas(files, session, session.processes, now);
  describe_removed(session);
  // The first run recorded a failure, so there must have been a recording.
  if (files.empty() && !session.manifest.passes.empty() && session.manifest.passes.front().failed_after) {
    session.manifest.notes.push_back("the recording of its processes is missing");
    session.whole = false;
  }
  attach_logs(folder / kRecordFolder, session.processes);
  session.races = read_races(folder / kRaces);
  session.kernel_code = read_kernel_code(folder / kRecordFolder / kKernelCodeFile);
  attach_hook_output(folder / kRecordFolder, session.processes);
  read_reruns(session);
  return session;
}

static Manifest manifest_or_empty(const fs::path& file) {
  auto manifest = read_manifest(file);
  auto* found = std::get_if<Manifest>(&manifest);
  return found == nullptr ? Manifest{} : std::move(*found);
}

Manifest open_manifest(const fs::path& folder) { return manifest_or_empty(folder / kManifest); }

Manifest open_running_manifest(const fs::path& folder) { return manifest_or_empty(folder / kRunningFile); }

void read_areas(const std::vector<fs::path>& files, Session& session, std::vector<Process>& processes,
                std::optional<wire::ClockReading> now) {
  const std::size_t most = std::min(files.size(), kMostAreas);
  note_surplus(files.size() - most, kMostAreas, " per run", session);
  for (const fs::path& file : std::span(files).first(most)) {
    auto image = AreaImage::load(file);
    if (const auto* failure = std::get_if<base::Error>(&image)) {
      session.manifest.notes.push_back(failure->what);
      session.whole = false;
      continue;
    }
    AreaContents contents = read_area(std::get<AreaImage>(image).bytes(), now);
    if (!contents.error.empty()) {
      session.manifest.notes.push_back(file.string() + " was ignored: " + contents.error);
      session.whole = false;
      continue;
    }
    processes.push_back(describe_process(std::move(contents.record), session.manifest));
  }
  sort_processes(processes);
}

Process describe_process(ProcessRecord record, const Manifest& manifest) {
  Process process;
  process.pid = record.pid;
  process.parent_pid = record.parent_pid;
  process.argv = split_at_zeros(value_of(record, Property::argv));
  // Drops empty arguments at the end. They remain if a program overwrites its arguments with a title, as Ray's workers
  // do.
  while (process.argv.size() > 1 && process.argv.back().empty()) process.argv.pop_back();
  process.rank = base::whole_number<int>(value_of(record, Property::rank));
  const auto end = manifest.ends.find(process.pid);
  if (end != manifest.ends.end()) process.end = end->second;
  process.record = std::move(record);
  return process;
}

void sort_processes(std::vector<Process>& processes) {
  std::ranges::stable_sort(processes, [](const Process& a, const Process& b) {
    return std::tie(a.record.start_realtime, a.pid) < std::tie(b.record.start_realtime, b.pid);
  });
}

namespace {

// Adds processes that have no area but were checked for non-finite elements.
void add_checked(const fs::path& folder, std::vector<Process>& processes) {
  constexpr std::size_t kMostProcesses = 1024;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const fs::path& file = entry.path();
    const auto pid = base::whole_number<decltype(Process::pid)>(file.stem().string());
    if (file.extension() != wire::delivery::kSuffix || !pid) continue;
    Process process;
    process.pid = *pid;
    const auto known = [&](const Process& other) { return other.pid == process.pid; };
    if (std::ranges::any_of(processes, known) || processes.size() >= kMostProcesses) continue;
    process.deliveries = read_deliveries(file);
    const auto checked = [](const Delivery& delivery) { return delivery.kind == DeliveryKind::checking; };
    if (std::ranges::none_of(process.deliveries, checked)) continue;
    process.record.pid = process.pid;
    process.record.state = wire::area::State::finished;
    processes.push_back(std::move(process));
  }
}

}  // namespace

void attach_hook_output(const fs::path& folder, std::vector<Process>& processes) {
  if (!base::open_plain_folder(AT_FDCWD, folder.c_str()).valid()) return;
  for (Process& process : processes) {
    process.deliveries = read_deliveries(folder / (std::to_string(process.pid) + wire::delivery::kSuffix));
    auto watched = read_deliveries(folder / (std::to_string(process.pid) + wire::delivery::kWatchedSuffix));
    std::ranges::sort(watched, [](const auto& a, const auto& b) { return a.ticks < b.ticks; });
    std::move(watched.begin(), watched.end(), std::back_inserter(process.deliveries));
  }
  add_checked(folder, processes);
}

}  // namespace cudadiag::session
