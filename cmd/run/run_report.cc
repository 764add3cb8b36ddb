// Prints the findings of `cudadiag run`: at a freeze or hang, and after the target has exited. Keeps or removes the
// session.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "analyse/notes.h"
#include "diagnose/diagnosis.h"
#include "diagnose/facts/place.h"
#include "diagnose/session_state.h"
#include "diagnose/status.h"
#include "diagnose/words.h"
#include "run/watched_run.h"
#include "sessions/session_choice.h"
#include "sessions/session_list.h"
#include "supervise/hook_config.h"
#include "supervise/reruns/rerun_table.h"
#include "terminal.h"

namespace cudadiag::command {

namespace {

const analyse::Note* find_note(const std::vector<analyse::Note>& notes, analyse::NoteCode code) {
  const auto found = std::ranges::find_if(notes, [&](const auto& note) { return note.code == code; });
  return found == notes.end() ? nullptr : &*found;
}

bool is_stall(const diagnose::Finding& finding) { return finding.hang && finding.hang->stall; }

// If work was certainly unfinished for at least a second when its process ended, prints a sentence about the oldest
// such work. `kept`: the session is kept, so the sentence may refer to it.
void print_unfinished(diagnose::SessionState& state, bool kept) {
  const session::Session& session = state.session();
  const auto status = diagnose::build_status(session, state.analysis(), false, state.symbolizer());
  const std::string text = diagnose::unfinished_text(status);
  if (text.empty()) return;
  say(text + (kept ? "; cudadiag status " + diagnose::shell_word(session.folder.string()) + " shows all unfinished work"
                   : ""));
}

}  // namespace

RunReport::RunReport(supervise::Recording& recording, const RunOptions& options)
    : recording_(recording), options_(options), notices_(options.notices) {
  if (const auto& failure = recording.obstacle_to_keeping()) {
    say("no session will be kept: " + failure->what + "; " + failure->hint);
    if (options.recording.record.once) say("--once gets no GPU core dump: the driver can write it only to a session");
  }
  if (const std::string& why = recording.manifest().unrecorded; !why.empty()) {
    say("running without recording: " + why);
  }
  for (const std::string& warning : recording.warnings()) say(warning);
}

void RunReport::print_unstored(const supervise::Stored& stored) {
  stored_ = true;
  for (const base::Error& given_up : stored.given_up) say(given_up);
  if (stored.loss) say("the session is incomplete: " + stored.loss->what + "; " + stored.loss->hint);
}

void RunReport::print_report(diagnose::Diagnosis report) {
  if (report.findings.empty() && findings_) return;
  // Suggested commands need a complete session. An empty session name makes the report omit these commands.
  if (!recording_.is_whole()) report.session.clear();
  report::TextOptions options = text_options(options_.verbosity, STDERR_FILENO);
  options.is_latest = is_latest(report.session, options_.recording.output);
  // A hang is rerun only for a core dump, if the user requested one.
  const bool hangs = std::ranges::all_of(
      report.findings, [](const diagnose::Finding& finding) { return finding.kind == analyse::Kind::hang; });
  if (hangs ? options_.rerun.hang_dump : options_.rerun_mode != supervise::RerunMode::never) {
    options = report::before_reruns(options);
  }
  write_error_text(report::write_text(report, options));
  for (const diagnose::Finding& finding : report.findings) {
    if (!finding.hang || !finding.hang->interrupted) failed_ = true;
    if (is_stall(finding)) {
      reported_stalls_[*finding.hang->stall] = diagnose::place(finding.location, report.working_directory);
    } else {
      reported_.insert(finding.pid);
    }
  }
  if (!report.findings.empty()) findings_ = true;
  notices_.inform(report);
}

void RunReport::store_and_print(diagnose::Diagnosis report) {
  if (recording_.writer() != nullptr) print_unstored(recording_.store());
  print_report(std::move(report));
}

void RunReport::report_freeze() {
  recording_.read();
  // A process that is still running may yet handle its failed calls. Only findings from frozen processes are final.
  const auto& processes = recording_.session().processes;
  diagnose::Diagnosis report = unprinted();
  diagnose::keep_findings(report, [&](const diagnose::Finding& finding) {
    return std::ranges::any_of(processes, [&](const session::Process& process) {
      return process.pid == finding.pid && process.record.state == wire::area::State::frozen;
    });
  });
  if (report.findings.empty()) return;
  store_and_print(std::move(report));
}

void RunReport::report_hang(double seconds, launch::SignalRelay& relay) {
  recording_.read_hang(seconds, relay);
  store_and_print(unprinted());
}

void RunReport::report_stalls(const supervise::StallNews& news) {
  recording_.read_stalls(news);
  print_ended(news);
  if (news.found.empty()) return;
  diagnose::Diagnosis report = unprinted();
  diagnose::keep_findings(report, is_stall);
  store_and_print(std::move(report));
}

void RunReport::note_stalls(const supervise::StallNews& news) {
  recording_.note_stalls(news);
  print_ended(news);
}

void RunReport::print_ended(const supervise::StallNews& news) const {
  if (options_.verbosity == report::Verbosity::quiet) return;
  for (const supervise::StallNews::Ended& ended : news.ended) {
    const auto place = reported_stalls_.find(ended.stall);
    if (place == reported_stalls_.end()) continue;
    say(fmt::format("the operation at {} finished on its own after {}", place->second,
                    diagnose::duration(ended.seconds)));
  }
}

bool RunReport::was_reported(const diagnose::Finding& finding) const {
  if (finding.race) return false;
  return is_stall(finding) ? reported_stalls_.contains(*finding.hang->stall) : reported_.contains(finding.pid);
}

bool RunReport::is_clean() {
  const diagnose::Diagnosis& whole = report();
  // A run that recorded nothing also counts as clean. It has already printed a message, and its session is empty.
  return whole.findings.empty() && recording_.session().whole &&
         !find_note(whole.notes, analyse::NoteCode::killed_at_work) &&
         !find_note(whole.notes, analyse::NoteCode::cut_off) &&
         !find_note(whole.notes, analyse::NoteCode::ranks_part) && !findings_;
}

void RunReport::keep_session() {
  for (const base::Error& failure : recording_.failures()) say(failure);
  print_unstored(recording_.store_last());
  // A session that only a rerun needs may be discarded later, so no older one makes room for it.
  session::Retention retention;
  if (open_pairs_) retention = {SIZE_MAX, UINTMAX_MAX};
  if (const auto failure = recording_.close(retention)) say(*failure);
  const session::Root& root = recording_.writer()->root();
  if (!root.warning.empty()) say(root.warning);
  if (options_.verbosity == report::Verbosity::verbose)
    print_removed(recording_.writer()->removed(), recording_.writer()->root().folder);
}

void RunReport::finish(const supervise::RunEnd& end) {
  recording_.note_end(end);
  // The session's folder may be discarded below. Without a folder, no values of watched lines were stored.
  const bool may_have_kept = recording_.writer() != nullptr;
  const bool clean = is_clean();
  open_pairs_ =
      clean && options_.rerun_mode != supervise::RerunMode::never && supervise::wants_races(recording_.session());
  const bool is_wanted = options_.recording.output || open_pairs_ || !recording_.manifest().outlived_by.empty();
  if (clean && !is_wanted) recording_.discard();
  if (recording_.writer() != nullptr) keep_session();
  print_rest();
  if (end.end.code != 0 || end.end.signal) FailureNotices::write_torchrun_error(report());
  print_end(end, may_have_kept);
}

void RunReport::print_rest() {
  if (reported_.empty() && reported_stalls_.empty()) return print_report(report());
  const auto& findings = report().findings;
  if (std::ranges::all_of(findings, [&](const auto& finding) { return was_reported(finding); })) return;
  print_report(unprinted());
}

void RunReport::print_end(const supervise::RunEnd& end, bool may_have_kept) {
  const std::vector<analyse::Note>& notes = report().notes;
  if (const analyse::Note* note = find_note(notes, analyse::NoteCode::outlived)) say(note->text + no_longer_sought());
  if (options_.recording.nans) return print_no_nan(recording_, report(), options_.verbosity);
  if (options_.recording.tensor_races) return print_no_tensor_race(recording_, report(), options_.verbosity);
  const bool nothing_recorded = !findings_ && explain_no_recording(recording_, options_, end, report());
  if (may_have_kept) {
    for (const std::string& sentence : supervise::silent_lines(options_.recording.watch, recording_.session())) {
      say(sentence);
    }
  }
  const auto& races = recording_.races();
  if (options_.print_no_race && races && !nothing_recorded) print_no_race(*races, options_.verbosity);
  // Users often interrupt or kill a program because it hangs, so unfinished work is reported here.
  const bool ended_at_work =
      end.interrupted || end.end.signal || find_note(notes, analyse::NoteCode::killed_at_work) != nullptr;
  const bool was_printed =
      options_.verbosity == report::Verbosity::verbose && find_note(notes, analyse::NoteCode::unfinished);
  if (!findings_ && !was_printed && (ended_at_work || options_.hang_after)) {
    print_unfinished(recording_.state(), recording_.writer() != nullptr);
  }
}

std::string RunReport::no_longer_sought() const {
  const bool hangs = options_.hang_after || options_.hang_report, races = recording_.races().has_value();
  if (!hangs && !races) return "";
  return fmt::format("; cudadiag has stopped looking for {}{}{}", hangs ? "hangs" : "", hangs && races ? " and " : "",
                     races ? "races" : "");
}

diagnose::Diagnosis RunReport::unprinted() {
  diagnose::Diagnosis rest = report();
  diagnose::keep_findings(rest, [&](const diagnose::Finding& finding) { return !was_reported(finding); });
  return rest;
}

void RunReport::drop_if_clean() {
  const bool is_wanted = !open_pairs_ || !recording_.manifest().outlived_by.empty() || options_.recording.output;
  if (recording_.writer() == nullptr || is_wanted || !report().findings.empty()) return;
  recording_.discard();
}

}  // namespace cudadiag::command
