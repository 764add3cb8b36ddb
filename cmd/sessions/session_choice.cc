#include "sessions/session_choice.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "diagnose/run_description.h"
#include "diagnose/session_state.h"
#include "diagnose/words.h"
#include "session/session_folders.h"
#include "session/session_reader.h"
#include "session/session_trust.h"
#include "symbolize/source_file.h"
#include "terminal.h"

namespace cudadiag::command {

namespace {

namespace fs = std::filesystem;
using supervise::LiveRun;

// Returns the end of a message that lists the processes still running after their launcher was killed; empty if none
// are.
std::string still_there(const session::LivePlace& place) {
  std::string pids;
  for (const std::uint32_t pid : session::holders_of(place)) pids += (pids.empty() ? "" : ", ") + std::to_string(pid);
  return pids.empty() ? "" : "; the program is still running, but cudadiag has stopped recording it: pid " + pids;
}

base::Error failure_of(const supervise::KilledRun& run) {
  const bool lost = session::was_lost(run.folder);
  return {"the run recorded in " + run.folder.string() + " is incomplete: cudadiag run was killed" +
              (lost ? ", and the recording is lost" : "") + still_there(run.place),
          lost ? "cudadiag list shows the other sessions"
               : "to see what was recorded before that: cudadiag report " + diagnose::shell_word(run.folder.string())};
}

// Returns a sentence about a run that is newer than `folder` but has nothing to show; "" if there is none. `folder` may
// be null.
std::string newer_run(const std::vector<session::Root>& roots, const fs::path* folder) {
  const auto live = session::newest_live(roots), lost = session::newest_lost(roots);
  const bool was_lost = lost && (!live || session::age_of(*live) < session::age_of(*lost));
  const auto& newer = was_lost ? lost : live;
  if (!newer || (folder != nullptr && session::age_of(*folder) >= session::age_of(*newer))) return "";
  const auto place = was_lost ? session::live_place(*newer) : std::nullopt;
  return was_lost ? "a newer run is incomplete: cudadiag run was killed, and the recording in " + newer->string() +
                        " is lost" + (place ? still_there(*place) : "")
                  : "a newer run has not ended and has no report yet (to see its state: cudadiag status " +
                        diagnose::shell_word(newer->string()) + ")";
}

// If nothing has been recorded to a newer session, prints that an older one is used instead.
void print_unused(const std::vector<session::Root>& roots, const base::Result<fs::path>& shown) {
  const auto* folder = std::get_if<fs::path>(&shown);
  const auto newer = folder == nullptr ? std::nullopt : session::newest_unused(roots);
  if (!newer || session::age_of(*newer) <= session::age_of(*folder)) return;
  say(session::finished_name(*newer).string() + ": " + session::why_unused(*newer) + "; using " + folder->string() +
      " instead");
}

// If the user chose the first root by a variable, prints why its sessions are not used.
void print_skipped(const std::vector<session::Root>& roots, const fs::path& folder) {
  const bool is_chosen = roots.front().by_variable || std::getenv("XDG_STATE_HOME") != nullptr;
  std::error_code ignored;
  if (!is_chosen || fs::equivalent(roots.front().folder, folder.parent_path(), ignored)) return;
  const auto obstacle = session::obstacle_to_reading({roots.front()});
  if (obstacle) say(obstacle->what + "; using " + folder.string() + " instead");
}

bool means_latest(const std::string& wanted) { return wanted.empty() || wanted == session::kLatest; }

LiveRun open_run(const fs::path& folder) {
  auto opened = LiveRun::open(folder);
  if (const auto* killed = std::get_if<supervise::KilledRun>(&opened)) throw failure_of(*killed);
  if (auto* failure = std::get_if<base::Error>(&opened)) throw std::move(*failure);
  return std::move(std::get<LiveRun>(opened));
}

base::Result<fs::path> find_session(const std::optional<fs::path>& output, const std::string& wanted,
                                    const char* newest_for) {
  const auto roots = session::roots_to_read(output);
  auto found = session::find_session(roots, wanted);
  if (means_latest(wanted)) {
    const auto* folder = std::get_if<fs::path>(&found);
    const std::string newer = newer_run(roots, folder);
    if (!newer.empty() && folder != nullptr && newest_for != nullptr) {
      return base::Error{newer, fmt::format("to choose an older session instead: cudadiag {} {}", newest_for,
                                            diagnose::shell_word(folder->string()))};
    }
    if (!newer.empty()) say(folder == nullptr ? newer : newer + "; using " + folder->string() + " instead");
    print_unused(roots, found);
    if (folder != nullptr) print_skipped(roots, *folder);
  }
  return found;
}

}  // namespace

bool is_latest(const fs::path& folder, const std::optional<fs::path>& output) {
  if (output) return false;
  // A newer session that is unfinished, or whose launcher was killed, is read instead, or refused.
  const auto sessions = session::sessions_in(session::roots(std::nullopt));
  std::error_code ignored;
  return !sessions.empty() && fs::equivalent(sessions.front(), folder, ignored);
}

fs::path choose_session(const std::optional<fs::path>& output, const std::string& wanted, const char* newest_for) {
  return taken(find_session(output, wanted, newest_for));
}

LiveRun choose_run(const std::optional<fs::path>& output, const std::string& wanted) {
  const auto roots = session::roots_to_read(output);
  if (means_latest(wanted)) {
    if (const auto live = session::newest_live(roots)) return open_run(*live);
  }
  const auto found = find_session(output, wanted, nullptr);
  const bool is_missing = means_latest(wanted) && !session::obstacle_to_reading(roots);
  if (std::holds_alternative<base::Error>(found) && is_missing) {
    throw base::Error{
        "no run is in progress here, and no session was found",
        "start one with cudadiag run -- COMMAND; if you start it with -o FOLDER, use the same option here"};
  }
  return open_run(taken(found));
}

diagnose::Diagnosis examine_found(const session::Session& session, bool trusted) {
  const std::string foreign = trusted ? "" : session::why_foreign(session);
  const symbolize::WithheldSources withheld(!foreign.empty());
  diagnose::SessionState state(session);
  diagnose::Diagnosis report = state.diagnosis();
  diagnose::mark_foreign(report, foreign);
  return report;
}

}  // namespace cudadiag::command
