// Prints the findings of `cudadiag run`: at a freeze or hang, and after the target has exited.
#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <vector>

#include "analyse/notes.h"
#include "commands/planted_fault.h"
#include "diagnose/diagnosis.h"
#include "diagnose/facts/place.h"
#include "diagnose/race_findings.h"
#include "diagnose/words.h"
#include "report/finding_text.h"
#include "run/watched_run.h"
#include "sessions/report_files.h"
#include "sessions/session_choice.h"
#include "supervise/python_requests.h"
#include "supervise/reruns/passes.h"
#include "terminal.h"

namespace cudadiag::command {

namespace {

const analyse::Note* find_note(const std::vector<analyse::Note>& notes, analyse::NoteCode code) {
  const auto found = std::ranges::find_if(notes, [&](const auto& note) { return note.code == code; });
  return found == notes.end() ? nullptr : &*found;
}

}  // namespace

RunReport::RunReport(supervise::Recording& recording, const RunOptions& options)
    : recording_(recording), options_(options), sinks_(options.sinks) {
  if (const auto& failure = recording.obstacle_to_keeping()) {
    say("no session will be kept: " + failure->what + "; " + failure->hint);
    if (options.recording.record.once) say("--once gets no GPU core dump: the driver can write it only to a session");
  }
  if (const std::string& why = recording.manifest().unrecorded; !why.empty()) {
    say("running without recording: " + why);
  }
  for (const std::string& warning : recording.warnings()) say(warning);
}

void RunReport::print_unstored(const supervise::Stored& stored) const {
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
  if (options_.rerun_mode != RerunMode::never && (!hangs || options_.rerun.hang_dump)) {
    options = report::before_reruns(options);
  }
  write_error_text(report::write_text(report, options));
  for (const diagnose::Finding& finding : report.findings) {
    if (finding.stall) {
      reported_stalls_[*finding.stall] = diagnose::place(finding.location, report.working_directory);
    } else {
      reported_.insert(finding.pid);
    }
  }
  if (!report.findings.empty()) findings_ = true;
  sinks_.inform(report);
}

void RunReport::report_freeze() {
  recording_.read();
  // A process that is still running may yet handle its failed calls. Only findings from frozen processes are final.
  const auto& processes = recording_.session().processes;
  diagnose::Diagnosis report = unreported();
  diagnose::keep_findings(report, [&](const diagnose::Finding& finding) {
    return std::ranges::any_of(processes, [&](const session::Process& process) {
      return process.pid == finding.pid && process.record.state == wire::area::State::frozen;
    });
  });
  if (report.findings.empty()) return;
  if (recording_.writer() != nullptr) print_unstored(recording_.store());
  print_report(report);
}

void RunReport::report_hang(double seconds, launch::SignalRelay& relay) {
  recording_.read_hang(seconds, relay);
  const diagnose::Diagnosis report = unreported();
  if (recording_.writer() != nullptr) print_unstored(recording_.store());
  print_report(report);
}

void RunReport::report_stalls(const supervise::StallNews& news) {
  recording_.read_stalls(news);
  print_ended(news);
  if (news.found.empty()) return;
  diagnose::Diagnosis report = unreported();
  diagnose::keep_findings(report, [](const diagnose::Finding& finding) { return finding.stall.has_value(); });
  if (recording_.writer() != nullptr) print_unstored(recording_.store());
  print_report(report);
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
  return finding.stall ? reported_stalls_.contains(*finding.stall) : reported_.contains(finding.pid);
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
  if (options_.verbosity != report::Verbosity::quiet)
    print_removed(recording_.writer()->removed(), recording_.writer()->root().folder);
}

void RunReport::finish(const supervise::RunEnd& end) {
  recording_.note_end(end);
  // The session's folder may be discarded below. Without a folder, no values of watched lines were stored.
  const bool may_have_kept = recording_.writer() != nullptr;
  const bool clean = is_clean();
  open_pairs_ = clean && options_.rerun_mode != RerunMode::never && supervise::wants_races(recording_.session());
  const bool is_wanted = options_.recording.output || open_pairs_ || !recording_.manifest().outlived_by.empty();
  if (clean && !is_wanted) recording_.discard();
  if (recording_.writer() != nullptr) keep_session();
  print_rest();
  if (end.end.code != 0 || end.end.signal) FailureSinks::write_torchrun_error(report());
  print_end(end, may_have_kept);
}

void RunReport::print_rest() {
  if (reported_.empty() && reported_stalls_.empty()) return print_report(report());
  const auto& findings = report().findings;
  if (std::ranges::all_of(findings, [&](const auto& finding) { return was_reported(finding); })) return;
  print_report(unreported());
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

diagnose::Diagnosis RunReport::unreported() {
  diagnose::Diagnosis rest = report();
  diagnose::keep_findings(rest, [&](const diagnose::Finding& finding) { return !was_reported(finding); });
  return rest;
}

void RunReport::drop_if_clean() {
  const bool is_wanted = !open_pairs_ || !recording_.manifest().outlived_by.empty() || options_.recording.output;
  if (recording_.writer() == nullptr || is_wanted || !report().findings.empty()) return;
  recording_.discard();
}

namespace {

// Finds the first process in which the recorder turned itself off, and prints why. Returns true if the recorder turned
// itself off in every process.
bool print_unrecorded(const std::vector<session::Process>& processes) {
  const auto first = std::ranges::find_if(processes, analyse::is_unrecorded);
  if (first == processes.end()) return false;
  const bool all = std::ranges::all_of(processes, analyse::is_unrecorded);
  for (const session::Note& note : first->record.notes) {
    const char* remedy = analyse::remedy_for(analyse::note_code(note.code));
    if (remedy == nullptr) continue;
    say("nothing was recorded" + (all ? "" : " for process " + std::to_string(first->pid)) + ": " + note.text + "; " +
        remedy);
    return all;
  }
  return false;
}

bool records_by_itself(const std::vector<std::string>& command) {
  if (command.size() < 2 || std::filesystem::path(command[0]).filename() != "cudadiag") return false;
  constexpr std::string_view kRecording[] = {"run", "races", "nans", "bisect"};
  return std::ranges::find(kRecording, command[1]) != std::end(kRecording);
}

// Returns the failed calls that the program handled, and runtimes whose failed calls were not recorded. A run without
// findings does not report them anywhere else.
std::string handled_calls(const std::vector<analyse::Note>& notes) {
  std::string text;
  for (const analyse::Note& note : notes) {
    if (note.code == analyse::NoteCode::error_handled || note.code == analyse::NoteCode::cuda_after_fork ||
        note.code == analyse::NoteCode::runtime_not_seen)
      text += "; " + note.text;
  }
  return text;
}

// SIGPIPE is not a failure: it is how a program that writes to `| head` normally ends.
bool failed(const session::ProcessEnd& end) { return end.signal ? *end.signal != SIGPIPE : end.code.value_or(0) != 0; }

void print_no_failure(const diagnose::Diagnosis& report) {
  const std::string handled = handled_calls(report.notes);
  if (report.verdict == analyse::Verdict::inconclusive) {
    const std::string why = report.notes.empty() ? "" : ": " + report.notes.front().text;
    return say("cannot tell whether CUDA failed" + why + handled);
  }
  say((handled.empty() ? "no CUDA failure was recorded" : "no CUDA failure is known to have ended the program") +
      handled);
}

// Asks the driver why no process was recorded, and prints the reason. `failed`: the command failed.
void print_why_no_process(bool failed) {
  const DriverReport driver = ask_driver();
  if (!driver.library_found) {
    say("the program could not use CUDA: this machine has no NVIDIA driver (libcuda.so.1); install it, or start the "
        "container with --gpus all");
  } else if (!driver.problem.empty()) {
    say("the program could not use CUDA: " + driver.problem +
        "; check that nvidia-smi works for this user and that CUDA_VISIBLE_DEVICES names a GPU");
  } else if (failed) {
    say("no CUDA call was recorded, so the command probably failed before its first one. To check CUDA, run: cudadiag "
        "doctor");
  } else {
    say("the program did not use CUDA, as far as the recording shows. A process that used a GPU for less than a second "
        "without being recorded may have been missed. If it should have used CUDA, run: cudadiag doctor");
  }
}

}  // namespace

bool explain_no_recording(const supervise::Recording& recording, const RunOptions& options,
                          const supervise::RunEnd& end, const diagnose::Diagnosis& report) {
  const auto& processes = recording.session().processes;
  if (!recording.manifest().unrecorded.empty() || print_unrecorded(processes)) return true;
  for (const std::string& sentence : recording.unrecorded()) say(sentence);
  const bool none = processes.empty();
  if (none && recording.is_void()) return true;  // the reason has been printed
  if (options.verbosity == report::Verbosity::quiet) return false;
  if (!none && failed(end.end)) return print_no_failure(report), false;
  if (!none) return false;
  const bool is_cudadiag = records_by_itself(options.recording.command);
  // A program without a GPU gets no message, unless it failed, or the user asks about its races or for details.
  const bool wanted = options.print_no_race || options.verbosity == report::Verbosity::verbose;
  if (!wanted && !failed(end.end)) return false;
  // An interrupted program may not have reached its first CUDA call.
  if (end.interrupted && !options.print_no_race) return false;
  if (end.interrupted) return say("the program did not use CUDA before it was interrupted"), true;
  if (is_cudadiag) {
    return say("nothing was recorded here: the command is another cudadiag, and creates a session of its own"), true;
  }
  if (wanted || recording.unrecorded().empty()) print_why_no_process(!wanted);
  return true;
}

namespace {

// If PyTorch's operators were observed and the run has no findings, prints the text in `nothing`. If no operators were
// observed, prints that nothing was checked.
void print_nothing_found(const supervise::Recording& recording, const diagnose::Diagnosis& report,
                         report::Verbosity verbosity, const char* nothing) {
  const bool is_quiet = verbosity == report::Verbosity::quiet, is_clean = report.findings.empty();
  for (const analyse::Note& note : report.notes) {
    // A report of findings has these notes, unless it is a quiet one.
    if (note.code == analyse::NoteCode::checks_ended && (is_clean || is_quiet)) say(note.text);
  }
  if (!is_clean || is_quiet) return;
  const std::size_t processes = recording.session().processes.size();
  if (processes == 0) {
    return say(
        "nothing was checked: no process of the command imported PyTorch, or its Python ignores the environment "
        "(-I, -E, -S)");
  }
  const std::string where = processes == 1 ? "1 process" : diagnose::thousands(processes) + " processes";
  say(nothing + ("; the operators of " + where) + " were checked");
}

}  // namespace

void print_no_nan(const supervise::Recording& recording, const diagnose::Diagnosis& report,
                  report::Verbosity verbosity) {
  print_nothing_found(recording, report, verbosity, "found no NaN that the program used");
}

void print_no_tensor_race(const supervise::Recording& recording, const diagnose::Diagnosis& report,
                          report::Verbosity verbosity) {
  print_nothing_found(recording, report, verbosity, "no race was found between tensors");
}

void print_no_race(const session::Races& races, report::Verbosity verbosity) {
  if (!races.found.empty() || !races.inside.empty() || verbosity == report::Verbosity::quiet) return;
  session::RaceCounts all;
  for (const session::RaceCounts& counts : races.counts) {
    all.operations += counts.operations;
    all.lost += counts.lost;
    all.gaps += counts.gaps;
    all.forgotten += counts.forgotten;
  }
  if (all.operations == 0) return say("the program issued no operation on a stream, so no race was looked for");
  const std::string unjudged = diagnose::unjudged_text(races);
  std::string text = unjudged.empty() ? "" : unjudged + "; ";
  text += fmt::format("no {}race was found between {} operations on streams", unjudged.empty() ? "" : "other ",
                      diagnose::thousands(all.operations));
  if (all.lost > 0) {
    const std::string gaps = report::counted(all.gaps, "gap") + " in the recording";
    text += all.lost == 1 ? "; 1 record was lost, so cudadiag could not see races across " + gaps
                          : fmt::format("; {} records were lost, so cudadiag could not see races across {}",
                                        diagnose::thousands(all.lost), gaps);
  }
  if (all.forgotten == 1) {
    text += "; 1 access was dropped for lack of room, so cudadiag could not see races involving it";
  } else if (all.forgotten > 1) {
    text += fmt::format("; {} accesses were dropped for lack of room, so cudadiag could not see races involving them",
                        diagnose::thousands(all.forgotten));
  }
  if (const std::string unchecked = diagnose::unchecked_text(races); !unchecked.empty()) text += "; " + unchecked;
  say(text);
}

}  // namespace cudadiag::command
