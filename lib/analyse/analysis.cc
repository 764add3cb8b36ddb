#include "analyse/analysis.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <iterator>

#include "analyse/failed_calls.h"
#include "analyse/first_failure.h"
#include "analyse/graph_nodes.h"
#include "analyse/hang.h"
#include "analyse/process_ending.h"
#include "base/files.h"
#include "session/process_record.h"

namespace cudadiag::analyse {
namespace {

// Adds a line to the file that a developer chose.
void debug_log(std::string_view line) {
  const char* path = std::getenv("CUDADIAG_DEBUG_LOG");
  if (path == nullptr) return;
  const base::FileDescriptor file(::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file.valid()) return;
  // Uses a single write, so that lines from several processes do not interleave.
  const std::string whole = std::string(line) + '\n';
  [[maybe_unused]] const ssize_t written = ::write(file.get(), whole.data(), whole.size());
}

using session::Process;
using session::ProcessRecord;
using session::Session;

// Returns the time that determines a failure's place in the report. For a synchronous failure, this is the end of its
// process: the process may have handled the error, and ended only because another process failed.
double time_of(const Failure& failure) {
  const ProcessRecord& record = failure.process->record;
  std::uint64_t ticks = failure.reported != nullptr ? failure.reported->ticks : record.frozen_ticks;
  if (!is_asynchronous(failure.kind)) ticks = std::max(ticks, record.clock_last);
  if (failure.code == 0 && !failure.candidates.empty()) ticks = failure.candidates.front().operation->ticks;
  return record.unix_seconds(std::max(ticks, record.clock_start));
}

// An asynchronous failure with an error code is not a guess, even if we cannot tell which operation caused it.
bool is_guess(const Failure& failure) {
  return (!is_asynchronous(failure.kind) || failure.code == 0) && failure.evidence.is_guess();
}

// Puts the note first, because the report gives the first note as the reason for an inconclusive verdict.
void leave_open(Analysis& analysis, std::optional<Note> why) {
  if (!why) return;
  analysis.verdict = Verdict::inconclusive;
  analysis.notes.insert(analysis.notes.begin(), std::move(*why));
}

// Returns the time at which the process issued its latest operation, in seconds since the epoch.
double latest_work(const ProcessRecord& record) {
  const auto latest = std::ranges::max_element(record.operations, {}, &session::Operation::ticks);
  return record.unix_seconds(latest == record.operations.end() ? record.clock_start : latest->ticks);
}

// Returns another process whose failure probably made the parent of both kill `process`; null if there is none. The
// other process must have failed on its own, within 10 seconds of the latest work of `process`.
const Process* ended_first(const Session& session, const Process& process) {
  constexpr double kTogether = 10;  // seconds
  const std::string pid = fmt::format(" {} ", process.pid);
  const double worked = latest_work(process.record);
  const auto left_it = [&](const Process& other) {
    const std::string& left = session::value_of(other.record, session::Property::left_at_work);
    return !left.empty() && (" " + left + " ").find(pid) != std::string::npos && own_ending(other).bad &&
           other.record.clock_last != 0 &&
           std::abs(other.record.unix_seconds(other.record.clock_last) - worked) < kTogether;
  };
  const auto first = std::ranges::find_if(session.processes, left_it);
  return first == session.processes.end() ? nullptr : &*first;
}

// Returns whether a rerun waited for each operation, none failed, and the same signal ended a process of it.
bool crashed_without_work(const Session& session, const Ending& end, const std::vector<Rerun>& reruns) {
  const auto finished = [](const Process& process) { return unfinished_operations(process.record) == 0; };
  for (std::size_t i = 0; i < reruns.size(); ++i) {
    const Rerun& rerun = reruns[i];
    const bool waited = session.manifest.passes[i + 1].waits == kEveryOperation && rerun.waits > 0 && !rerun.gave_up;
    const bool same_end = std::ranges::any_of(session.reruns[i], [&](const Process& process) {
      const Ending own = own_ending(process);
      return own.signal == end.signal || (!own.known && rerun.end.signal == end.signal);
    });
    if (rerun.outcome == Rerun::Outcome::did_not_fail && waited && same_end &&
        std::ranges::all_of(session.reruns[i], finished)) {
      return true;
    }
  }
  return false;
}

// Returns whether the program was stopped from outside, by cudadiag or by a signal.
bool was_asked_to_end(const Session& session) {
  const auto& passes = session.manifest.passes;
  return session.manifest.asked_to_end || session.manifest.hang ||
         (!passes.empty() && (passes.front().cut_short || ending(passes.front().end).asked_for()));
}

// A process may exit with a failure while GPU work is pending. That work may have failed or hung before any call could
// report it. A process whose end only the program itself saw may have crashed, although the command succeeded: a shell
// ignores how all but the last process of a pipeline end.
void look_at_cut_off_work(const Session& session, const Process& process, Analysis& analysis) {
  const ProcessRecord& record = process.record;
  if (record.state != wire::area::State::recording) return;
  const Ending end = ending_of(session, process);
  const bool may_have_crashed = end.bad || (!end.of_process && !was_asked_to_end(session));
  const std::uint64_t unfinished = may_have_crashed ? unfinished_operations(record) : 0;
  if (unfinished == 0) return;
  const std::string how = !end.of_process ? "ended in an unknown way"
                          : end.signal != 0
                              ? "was killed by " + end.text
                              : "ended with status " + std::to_string(end.status) + " but without exit(),";
  const std::string text = fmt::format("process {} {} with {} pending", process.pid, how,
                                       unfinished == 1 ? "1 operation" : fmt::format("{} operations", unfinished));
  const Process* first = ended_first(session, process);
  if (first != nullptr && (!end.of_process || end.signal == SIGTERM || end.signal == SIGKILL)) {
    analysis.notes.push_back(
        {NoteCode::cut_off, fmt::format("{}; process {} had ended with {} while this one was working", text, first->pid,
                                        own_ending(*first).text)});
    return;
  }
  const bool crashed = end.of_process && end.signal != 0 && !end.killed();
  if (crashed && crashed_without_work(session, end, analysis.reruns)) {
    analysis.notes.push_back({NoteCode::killed_at_work,
                              text + "; in a rerun, all operations finished before the same signal: the crash is in "
                                     "host code"});
    return;
  }
  std::string open = text + "; no later call checked whether " + (unfinished == 1 ? "it" : "they") + " failed";
  if (may_have_crashed_at_dump(session, process)) {
    open += "; the driver may have crashed when it began a GPU core dump: run the command again, or without --once";
  }
  leave_open(analysis, Note{NoteCode::killed_at_work, open});
}

// Returns a clause about failed calls that are not reported as findings; empty if there are none.
std::string failed_all_the_same(const Session& session, bool handled) {
  const bool answers = std::ranges::any_of(session.processes, [](const Process& process) {
    return std::ranges::any_of(process.record.errors, [&](const session::FailedCall& error) {
      return is_benign(error) || found_no_device(error, process.record);
    });
  });
  if (handled)
    return answers ? ", except those that the program handled or whose error is expected"
                   : ", except those that the program handled";
  return answers ? ", except those whose error is expected" : "";
}

// Describes a run that failed without a CUDA error. The text says "no watched CUDA call", because the recorder watches
// neither queries nor calls in a forked child.
std::optional<Note> unrelated_end(const Session& session, bool handled) {
  std::string who = "the command";
  Ending end;
  if (!session.manifest.passes.empty()) {
    if (session.manifest.passes.front().cut_short) return std::nullopt;
    end = ending(session.manifest.passes.front().end);
  }
  for (const Process& process : session.processes) {
    if (end.bad || !own_ending(process).bad) continue;
    who = fmt::format("process {}", process.pid);
    end = own_ending(process);
  }
  if (!end.bad) return std::nullopt;
  return Note{NoteCode::unrelated_end, fmt::format("{} ended with {}, but no watched CUDA call had failed{}", who,
                                                   end.text, failed_all_the_same(session, handled))};
}

// Returns nullopt if recordings were lost, because the session's own notes already say so.
std::optional<Note> nothing_recorded(const Session& session) {
  if (!session.whole || !session.processes.empty()) return std::nullopt;
  const std::string& known = session.manifest.unrecorded;
  return Note{NoteCode::nothing_recorded,
              known.empty() ? "no process of the program loaded the recorder: either the program did not "
                              "use CUDA, or it cleared CUDA_INJECTION64_PATH (through which the CUDA driver finds the "
                              "recorder), or the driver could not load the recorder"
                            : "the program was not recorded: " + known};
}

std::optional<Note> outlived(const std::set<std::uint32_t>& by) {
  constexpr std::size_t kNamed = 4;
  if (by.empty()) return std::nullopt;
  std::string names;
  std::size_t named = 0;
  for (const std::uint32_t pid : by) {
    if (named++ < kNamed) names += (names.empty() ? "" : ", ") + std::to_string(pid);
  }
  if (named > kNamed) names += fmt::format(" and {} more", named - kNamed);
  return Note{NoteCode::outlived, named == 1
                                      ? "process " + names +
                                            " was still running when the command exited, so cudadiag stopped watching "
                                            "it; to watch it until it exits, make the command wait for it"
                                      : "processes " + names +
                                            " were still running when the command exited, so cudadiag stopped watching "
                                            "them; to watch them until they exit, make the command wait for them"};
}

// Ignores a process that issued no GPU work, such as a daemon that only queried a device.
bool went_on_at_work(const Session& session, const Process& process) {
  const ProcessRecord& record = process.record;
  return session.manifest.outlived_by.contains(process.pid) && record.state == wire::area::State::recording &&
         record.operations_issued > 0;
}

// Returns whether the process may have ended because it gave up waiting. If only the end of the command is known,
// returns false if another process failed. The command may have ended because of that failure.
bool may_have_given_up(const Session& session, const Process& process) {
  const Ending end = ending_of(session, process);
  if (was_asked_to_end(session) || !end.bad || end.asked_for()) return false;
  return end.of_process ||
         std::ranges::none_of(session.processes, [](const Process& other) { return own_ending(other).bad; });
}

// Skips a stall that turned into the hang at the end of the run, because the finding for the hang is more detailed.
void add_stalls(const Session& session, const Process& process, Analysis& analysis) {
  for (const session::Stall& stall : session.manifest.stalls) {
    if (!is_of(stall, process)) continue;
    const auto same = [&](const Failure& failure) { return is_same(stall, failure); };
    if (std::ranges::any_of(analysis.failures, same)) continue;
    if (auto failure = hang_again(process, stall)) analysis.failures.push_back(std::move(*failure));
  }
}

bool was_interrupted(const Failure& failure) {
  return failure.hang && failure.hang->stall != nullptr && failure.hang->stall->interrupted;
}

void look_at(const Session& session, const Process& process, const SameLine& same_line, Analysis& analysis) {
  if (auto failure = first_failure(process)) analysis.failures.push_back(std::move(*failure));
  if (auto stale = stale_replay(process)) analysis.failures.push_back(std::move(*stale));
  if (session.manifest.hang && !session.manifest.ended_before_hang.contains(process.pid)) {
    if (auto failure = hang(process, *session.manifest.hang)) analysis.failures.push_back(std::move(*failure));
  }
  const Ending end = ending_of(session, process);
  if (may_have_given_up(session, process)) {
    if (auto failure = hang_until_end(process)) analysis.failures.push_back(std::move(*failure));
  }
  add_stalls(session, process, analysis);
  CallFindings calls = failed_calls(process, end, same_line);
  std::move(calls.failures.begin(), calls.failures.end(), std::back_inserter(analysis.failures));
  std::move(calls.notes.begin(), calls.notes.end(), std::back_inserter(analysis.notes));
  const auto degraded = coverage_notes(process, session.processes.size() > 1);
  auto& notes = analysis.notes;
  notes.insert(is_unrecorded(process) ? notes.begin() : notes.end(), degraded.begin(), degraded.end());
}

bool ended_badly(const Session& session) {
  const auto& passes = session.manifest.passes;
  if (was_asked_to_end(session)) return false;
  return (!passes.empty() && ending(passes.front().end).bad) ||
         std::ranges::any_of(session.processes, [](const Process& process) {
           return own_ending(process).bad && !own_ending(process).asked_for();
         });
}

// Returns nullopt if group_answer() finds no reason for a hang. `hangs` is as in group_answer().
std::optional<JobGroups> job_groups(const std::vector<const Process*>& processes, bool hangs) {
  JobGroups job;
  for (const Process* process : processes) {
    auto state = rank_state(*process, kAllCalls);
    if (!state) continue;
    job.states.push_back(std::move(*state));
    job.processes.push_back(process);
  }
  auto answer = group_answer(job.states, hangs);
  if (!answer) return std::nullopt;
  job.answer = std::move(*answer);
  return job;
}

// Finds where the ranks of a hanging or failed job diverge. A rank that gave up waiting has no unfinished work, so it
// does not show up as a hang. Ignores a run that ended normally, because its ranks may end one collective apart.
void look_at_ranks(const Session& session, Analysis& analysis) {
  const auto& failures = analysis.failures;
  const bool hangs = !failures.empty() && failures.front().kind == Kind::hang;
  if (!hangs && (!failures.empty() || !ended_badly(session))) return;
  std::vector<const Process*> processes;
  for (const Process& process : session.processes) processes.push_back(&process);
  if (knows_groups(processes)) {
    analysis.groups = job_groups(processes, hangs);
    return;
  }
  const bool in_one = hangs && in_collective(failures.front());
  if ((!in_one && hangs) || session.processes.size() < 2) return;
  std::vector<CollectiveSequence> sequences;
  for (const Process& process : session.processes) sequences.emplace_back(process);
  analysis.ranks = ranks_to_tell(sequences, in_one);
}

// Logs a summary of the session's state. Tests read the log to check that each state is analysed only once.
void log_state(const Session& session) {
  std::string line = "analysed " + session.folder.string() + ": processes";
  for (const Process& process : session.processes) line += ' ' + std::to_string(process.pid);
  const auto& passes = session.manifest.passes;
  const bool ended = !passes.empty() && (passes.front().end.code || passes.front().end.signal);
  debug_log(line + (ended ? ", ended" : ", running") + ", reruns " + std::to_string(session.reruns.size()));
}

}  // namespace

bool knows_groups(const std::vector<const Process*>& processes) {
  const auto known = [](const Process* process) { return !process->record.communicators.empty(); };
  return std::ranges::any_of(processes, known) && std::ranges::all_of(processes, [&](const Process* process) {
           return known(process) || !calls_collectives(*process);
         });
}

// Hangs come after other failures, because a hanging process may be waiting for one that failed. Hangs in a collective
// come last, because the process may be waiting for a process that hangs elsewhere.
FailureOrder order_of(const Failure& failure) {
  const bool hangs = failure.kind == Kind::hang;
  return {is_guess(failure), hangs, hangs && in_collective(failure), time_of(failure)};
}

Analysis analyse(const Session& session, const SameLine& same_line, const CountedCalls& counted) {
  log_state(session);
  Analysis analysis;
  for (const std::string& note : session.manifest.notes) analysis.notes.push_back({NoteCode::launcher, note});
  for (const Process& process : session.processes) look_at(session, process, same_line, analysis);
  std::ranges::stable_sort(analysis.failures, {}, order_of);
  if (!analysis.failures.empty()) analysis.first_grade = analysis.failures.front().evidence.grade();
  analysis.reruns = join_reruns(session, analysis.failures, analysis.notes, counted);
  analysis.vanished = vanished(analysis.reruns);
  for (Failure& failure : analysis.failures) name_graph_nodes(failure);
  for (Failure& failure : analysis.failures) blame_stale_pointer(failure);
  for (Failure& failure : analysis.failures) recall_failed_allocation(failure);
  look_at_ranks(session, analysis);
  auto goes_on = outlived(session.manifest.outlived_by);
  if (!analysis.failures.empty()) {
    analysis.verdict = Verdict::cuda_failure;
    if (std::ranges::all_of(analysis.failures, was_interrupted))
      leave_open(analysis, Note{NoteCode::interrupted_at_work,
                                "work that a signal interrupted had not finished, but it may only be slow"});
    if (goes_on) analysis.notes.push_back(std::move(*goes_on));
    return analysis;
  }
  const auto any = [&](const auto& is) { return std::ranges::any_of(session.processes, is); };
  if (any(is_unrecorded) || !session.whole) analysis.verdict = Verdict::inconclusive;
  if (any([&](const Process& process) { return went_on_at_work(session, process); })) {
    leave_open(analysis, std::move(goes_on));
  } else if (goes_on) {
    analysis.notes.push_back(std::move(*goes_on));
  }
  for (const Process& process : session.processes) look_at_cut_off_work(session, process, analysis);
  leave_open(analysis, nothing_recorded(session));
  if (analysis.ranks || analysis.groups)
    leave_open(analysis, Note{NoteCode::ranks_part, "the ranks of the job diverge at a collective"});
  if (analysis.verdict == Verdict::no_cuda_failure) {
    const bool handled =
        std::ranges::any_of(analysis.notes, [](const Note& note) { return note.code == NoteCode::error_handled; });
    if (auto note = unrelated_end(session, handled)) analysis.notes.push_back(std::move(*note));
  }
  return analysis;
}

}  // namespace cudadiag::analyse
