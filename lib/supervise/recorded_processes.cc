#include "supervise/recorded_processes.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "base/processes.h"
#include "session/area/area_reader.h"
#include "session/area/live_place.h"
#include "session/notes/unrecorded.h"
#include "session/processes.h"
#include "session/session_folders.h"
#include "session/session_reader.h"
#include "supervise/host_stacks.h"
#include "wire/area.h"

namespace cudadiag::supervise {

std::vector<session::Process> read_processes(const launch::Arena* arena, const session::SessionWriter* writer,
                                             session::Session& session) {
  std::vector<session::Process> processes;
  if (writer != nullptr) session::read_areas(writer->foreign_areas(), session, processes);
  for (std::size_t area = 0; arena != nullptr && area < arena->claimed(); ++area) {
    const launch::LiveArea live(*arena, area);
    session::AreaContents contents = session::read_area(live.bytes(), wire::ClockReading::now());
    // The process died before it could write even the magic number.
    if (!contents.error.empty()) continue;
    processes.push_back(session::describe_process(std::move(contents.record), session.manifest));
  }
  session::sort_processes(processes);
  return processes;
}

std::optional<std::string> note_on_unrecorded(const launch::Arena& arena, const session::SessionWriter* writer) {
  const std::size_t files = writer == nullptr ? 0 : writer->foreign_areas().size();
  const std::size_t missing = arena.forgotten() + arena.turned_away() - std::min(arena.turned_away(), files);
  if (missing == 0) return std::nullopt;
  return std::to_string(missing) + (missing == 1 ? " process was" : " processes were") +
         " not recorded: a recording has room for " + std::to_string(arena.places()) +
         ", including processes that failed; start cudadiag closer to the part that fails";
}

std::optional<std::string> left_unrecorded(const launch::Arena* arena, const session::SessionWriter* writer) {
  session::Unrecorded left;
  if (writer != nullptr) left = session::unrecorded_in(writer->pass_folder());
  if (arena != nullptr && arena->unrecorded().processes > 0) {
    const std::size_t beside = left.processes;
    left = arena->unrecorded();
    left.processes += beside;
  }
  if (left.processes == 0) return std::nullopt;
  const base::Error failure = session::nothing_recorded_of(left);
  return failure.what + "; " + failure.hint;
}

std::vector<std::uint32_t> recording_processes(const launch::Arena& arena) {
  std::vector<std::uint32_t> found;
  const session::LivePlace place = arena.place();
  for (std::size_t area = 0; area < arena.claimed(); ++area) {
    const launch::LiveArea live(arena, area);
    const auto bytes = live.bytes();
    const auto recording = static_cast<std::uint32_t>(wire::area::State::recording);
    if (bytes.empty() || wire::load_acquire(bytes.data(), wire::area::kState) != recording) continue;
    const std::uint32_t pid = wire::load(bytes.data(), wire::area::kPid);
    const bool known = std::find(found.begin(), found.end(), pid) != found.end();
    if (!known && session::is_held_by(place, pid)) found.push_back(pid);
  }
  return found;
}

std::optional<base::Error> store_areas(const launch::Arena& arena, session::SessionWriter& writer) {
  for (std::size_t area = 0; area < arena.claimed(); ++area) {
    const launch::LiveArea live(arena, area);
    const auto header = live.bytes().first(std::min(live.bytes().size(), wire::area::kHeaderSize));
    const auto contents = session::read_area(header);
    if (!contents.error.empty()) continue;
    arena.stamp_clock(area);
    auto failure = writer.store_area(area, contents.record.pid, arena.file(), arena.begin(area), arena.end(area));
    if (failure) return failure;
  }
  return std::nullopt;
}

std::optional<double> first_freeze(const std::vector<session::Process>& processes, double start) {
  std::optional<double> first;
  for (const session::Process& process : processes) {
    const session::ProcessRecord& record = process.record;
    if (record.state != wire::area::State::frozen) continue;
    const double at = record.unix_seconds(record.frozen_ticks) - start;
    if (!first || at < *first) first = at;
  }
  return first;
}

namespace {

namespace fs = std::filesystem;

bool is_incomplete(const fs::path& folder) { return folder.filename().string().ends_with(session::kIncomplete); }

// Returns whether any process is still alive; nullopt if unknown. Relies on the records of the processes, because the
// launcher may have been killed before it noted their end.
std::optional<bool> any_lives(const session::Session& session) {
  bool known = !session.processes.empty();
  for (const session::Process& process : session.processes) {
    const auto alive = session::lives(session.folder, process.record);
    if (alive.value_or(false)) return true;
    known = known && alive.has_value();
  }
  return known ? std::optional(false) : std::nullopt;
}

}  // namespace

std::variant<LiveRun, KilledRun, base::Error> LiveRun::open(const fs::path& folder) {
  LiveRun run(folder);
  if (!is_incomplete(folder)) return run;
  const auto place = session::live_place(folder);
  if (!place) return run;
  auto arena = launch::Arena::attach(*place);
  if (auto* failure = std::get_if<base::Error>(&arena)) {
    if (!session::is_being_written(folder)) return KilledRun{folder, *place};
    return base::Error{"cannot inspect the run recorded in " + folder.string() + ": " + failure->what,
                       failure->hint.empty() ? "run this command in the program's container" : failure->hint};
  }
  run.arena_.emplace(std::move(std::get<launch::Arena>(arena)));
  return run;
}

base::Result<session::Session> LiveRun::read() {
  std::error_code error;
  if (is_incomplete(folder_) && !fs::exists(folder_, error)) {
    folder_ = session::finished_name(folder_);
    arena_.reset();
    if (!fs::exists(folder_, error)) {
      return base::Error{"the run is over, and no session was kept because nothing failed",
                         "cudadiag run -o FOLDER keeps sessions of clean runs too"};
    }
  }
  goes_on_ = session::run_goes_on(folder_);
  if (!arena_) return read_session();
  session::Session session;
  session.folder = folder_;
  session.manifest = session::open_running_manifest(folder_);
  session.processes = read_processes(&*arena_, nullptr, session);
  if (arena_->turned_away() > 0) {
    const bool one = arena_->turned_away() == 1;
    session.manifest.notes.push_back(std::to_string(arena_->turned_away()) + (one ? " process" : " processes") +
                                     " cannot be seen while the run is in progress: the memory for the recording has "
                                     "no room for " +
                                     (one ? "it" : "them"));
  }
  return session;
}

bool LiveRun::lives(const session::Process& process) const {
  return arena_ ? !base::has_ended(process.pid) : session::lives(folder_, process.record).value_or(false);
}

void LiveRun::add_host_stacks(session::Session& session) const {
  if (!goes_on_.value_or(false)) return;
  for (const session::Process& process : session.processes) {
    if (!lives(process)) continue;
    std::ranges::move(host_stacks(process), std::back_inserter(session.manifest.host_stacks));
  }
}

base::Result<session::Session> LiveRun::read_session() {
  auto opened = session::open_session(folder_);
  const auto* session = std::get_if<session::Session>(&opened);
  if (session == nullptr || goes_on_.value_or(true) || !session->manifest.passes.empty()) return opened;
  goes_on_ = any_lives(*session);
  if (goes_on_.value_or(false)) return session::open_session(folder_, wire::ClockReading::now());
  return opened;
}

}  // namespace cudadiag::supervise
