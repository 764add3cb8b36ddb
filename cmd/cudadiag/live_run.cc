#include "live_run.h"

#include <utility>

#include "report/words.h"
#include "session/live_place.h"
#include "session/process_life.h"
#include "session/session_folders.h"
#include "session/session_reader.h"
#include "session/unrecorded.h"
#include "supervise/recorded_processes.h"
#include "terminal.h"

namespace cudadiag::command {
namespace {

namespace fs = std::filesystem;

bool is_incomplete(const fs::path& folder) { return folder.filename().string().ends_with(session::kIncomplete); }

// Where no launcher has said how it ended, its processes are asked. Nothing: not known.
std::optional<bool> any_lives(const session::Session& session) {
  bool known = !session.processes.empty();
  for (const session::Process& process : session.processes) {
    const auto alive = session::lives(session.folder, process.record);
    if (alive.value_or(false)) return true;
    known = known && alive.has_value();
  }
  return known ? std::optional(false) : std::nullopt;
}

// For the program of a launcher that was killed.
std::string still_there(const session::LivePlace& place) {
  std::string pids;
  for (const std::uint32_t pid : session::holders_of(place)) pids += (pids.empty() ? "" : ", ") + std::to_string(pid);
  return pids.empty() ? "" : "; of its program still there, unwatched: pid " + pids;
}

// A recording goes with the launcher that holds it; the program may go on.
session::Failure killed(const fs::path& folder, const session::LivePlace& place) {
  const bool lost = session::was_lost(folder);
  return {"the run of " + folder.string() + " was not finished: its cudadiag run was killed" +
              (lost ? ", and what it had recorded is lost" : "") + still_there(place),
          lost ? "cudadiag list shows the other sessions"
               : "what it had written until then: cudadiag report " + report::shell_word(folder.string())};
}

void tell_newer_run(const std::vector<session::Root>& roots, const session::Result<fs::path>& shown) {
  const auto* folder = std::get_if<fs::path>(&shown);
  const auto live = session::newest_live(roots), lost = session::newest_lost(roots);
  const bool was_lost = lost && (!live || live->filename() < lost->filename());
  const auto& newer = was_lost ? lost : live;
  if (!newer || (folder != nullptr && folder->filename() >= newer->filename())) return;
  const auto place = was_lost ? session::live_place(*newer) : std::nullopt;
  const std::string text =
      was_lost ? "a newer run was not finished: its cudadiag run was killed, and what it had recorded is lost "
                 "(cudadiag list shows it: " +
                     newer->string() + ")" + (place ? still_there(*place) : "")
               : "a newer run goes on, of which there is no report yet (cudadiag status " +
                     report::shell_word(newer->string()) + ")";
  say(folder == nullptr ? text : text + "; this is " + folder->string());
}

// Otherwise the reader would see an older session, and learn nothing of the one that cudadiag env has prepared.
void tell_unwritable(const std::vector<session::Root>& roots, const session::Result<fs::path>& shown) {
  const auto* folder = std::get_if<fs::path>(&shown);
  const auto newer = folder == nullptr ? std::nullopt : session::newest_unwritable(roots);
  if (!newer || session::age_of(*newer) <= session::age_of(*folder)) return;
  say(newer->string() + ": " + session::why_unused(*newer) + "; this is " + folder->string());
}

bool means_latest(const std::string& wanted) { return wanted.empty() || wanted == session::kLatest; }

}  // namespace

session::Result<fs::path> choose_session(const std::optional<std::string>& output, const std::string& wanted) {
  std::optional<fs::path> root;
  if (output) root = *output;
  const auto roots = session::roots_to_read(root);
  auto found = session::find_session(roots, wanted);
  if (means_latest(wanted)) {
    tell_newer_run(roots, found);
    tell_unwritable(roots, found);
  }
  return found;
}

session::Result<LiveRun> LiveRun::open(const std::optional<std::string>& output, const std::string& wanted) {
  std::optional<fs::path> root;
  if (output) root = *output;
  const auto roots = session::roots_to_read(root);
  std::optional<fs::path> folder;
  if (means_latest(wanted)) folder = session::newest_live(roots);
  if (!folder) {
    const auto found = choose_session(output, wanted);
    if (const auto* failure = std::get_if<session::Failure>(&found)) {
      if (!means_latest(wanted) || session::obstacle_to_reading(roots)) return *failure;
      return session::Failure{"no run is going on here, and there is no session",
                              "start one with cudadiag run -- COMMAND; with -o FOLDER there, give the same here"};
    }
    folder = std::get<fs::path>(found);
  }
  LiveRun run(*folder);
  if (!is_incomplete(*folder)) return run;
  const auto place = session::live_place(*folder);
  if (!place) return run;
  auto arena = launch::Arena::attach(*place);
  if (auto* failure = std::get_if<session::Failure>(&arena)) {
    if (session::is_being_written(*folder)) {
      return session::Failure{"cannot look into the run of " + folder->string() + ": " + failure->what,
                              failure->hint.empty() ? "run this command in the same container" : failure->hint};
    }
    return killed(*folder, *place);
  }
  run.arena_.emplace(std::move(std::get<launch::Arena>(arena)));
  return run;
}

session::Result<session::Session> LiveRun::read() {
  std::error_code error;
  if (is_incomplete(folder_) && !fs::exists(folder_, error)) {
    folder_ = session::finished_name(folder_);
    arena_.reset();
    if (!fs::exists(folder_, error)) {
      return session::Failure{"the run is over, and as nothing failed in it no session was kept",
                              "cudadiag run -o FOLDER keeps sessions of clean runs too"};
    }
  }
  goes_on_ = session::run_goes_on(folder_);
  if (!arena_) return read_session();
  session::Session session;
  session.folder = folder_;
  session.manifest = session::open_running_manifest(folder_);
  session.processes = supervise::read_processes(&*arena_, nullptr, session);
  if (arena_->turned_away() > 0) {
    session.manifest.notes.push_back("of " + std::to_string(arena_->turned_away()) +
                                     " processes nothing is seen while the run goes on: there are more than the memory "
                                     "for the recording has places for");
  }
  return session;
}

session::Result<session::Session> LiveRun::read_session() {
  auto opened = session::open_session(folder_);
  const auto* session = std::get_if<session::Session>(&opened);
  if (session == nullptr || goes_on_.value_or(true) || !session->manifest.passes.empty()) return opened;
  goes_on_ = any_lives(*session);
  if (goes_on_.value_or(false)) return session::open_session(folder_, wire::ClockReading::now());
  return opened;
}

}  // namespace cudadiag::command
