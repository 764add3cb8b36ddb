// Says why a run has no findings: it was not recorded, or what was looked for was not found.
#include <fmt/core.h>
#include <signal.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analyse/notes.h"
#include "analyse/process_ending.h"
#include "diagnose/unreported/findings.h"
#include "diagnose/words.h"
#include "report/finding_text.h"
#include "report/writers.h"
#include "run/gpu_checks.h"
#include "run/watched_run.h"
#include "terminal.h"

namespace cudadiag::command {
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

void print_no_failure(const diagnose::Diagnosis& report, bool is_kept) {
  const std::string handled = handled_calls(report.notes);
  if (report.verdict == analyse::Verdict::inconclusive) {
    const std::string why = report.notes.empty() ? "" : ": " + report.notes.front().text;
    const bool may_wait = is_kept && report::crashed_at_work(report);
    return say("cannot tell whether CUDA failed" + why + handled +
               (may_wait ? "; to find out: cudadiag bisect --window all" : ""));
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
  const bool may_have_crashed =
      std::ranges::find(report.notes, analyse::NoteCode::killed_at_work, &analyse::Note::code) != report.notes.end();
  if (!none && (failed(end.end) || may_have_crashed)) return print_no_failure(report, recording.keeps_session()), false;
  if (!none) return false;
  // A program without a GPU gets no message, unless it failed, or the user asks about its races or for details.
  const bool wanted = options.print_no_race || options.verbosity == report::Verbosity::verbose;
  if (!wanted && !failed(end.end)) return false;
  // An interrupted program may not have reached its first CUDA call.
  const bool interrupted = end.interrupted || analyse::ending(end.end).asked_for();
  if (interrupted && !options.print_no_race) return false;
  if (interrupted) return say("the program did not use CUDA before it was interrupted"), true;
  if (recording.holds_launcher()) {
    say("nothing was recorded here: the command started another cudadiag; what that one recorded is in a session of "
        "its own");
    return true;
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
  if (const std::string remedy = diagnose::disassembler_remedy(races); !remedy.empty()) say(remedy);
}

}  // namespace cudadiag::command
