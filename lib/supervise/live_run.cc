#include "supervise/live_run.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/processes.h"
#include "session/process_life.h"
#include "session/session_folders.h"
#include "session/session_reader.h"
#include "supervise/host_stacks.h"
#include "supervise/recorded_processes.h"

namespace cudadiag::supervise {
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

void LiveRun::add_host_stacks(session::Session& session) const {
  if (!goes_on_.value_or(false)) return;
  for (const session::Process& process : session.processes) {
    const bool lives = arena_ ? !base::has_ended(process.pid) : session::lives(folder_, process.record).value_or(false);
    if (!lives) continue;
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
