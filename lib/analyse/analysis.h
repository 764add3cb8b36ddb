// First failures: what the recorded processes say went wrong, before any symbol or source line is looked up.
// Pointers refer into the Session that was analysed; it must outlive the Analysis.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analyse/ending.h"
#include "analyse/hangs/group_answer.h"
#include "analyse/hangs/ranks.h"
#include "analyse/hangs/unfinished_work.h"
#include "analyse/note_code.h"
#include "analyse/reasons.h"
#include "session/session.h"

namespace cudadiag::analyse {

enum class Grade { proven, bracketed, inferred, suspected };
enum class Verdict { cuda_failure, no_cuda_failure, inconclusive };
enum class Kind {
  async_error,
  graph_node,
  graph_stale_pointer,
  sync_error,
  unchecked_error,
  capture_violation,
  out_of_memory,
  stream_race,
  hang,
  non_finite,
  out_of_bounds
};

// A failure of the GPU's own work, which some later call returned.
constexpr bool is_asynchronous(Kind kind) {
  return kind == Kind::async_error || kind == Kind::graph_node || kind == Kind::graph_stale_pointer;
}

struct Candidate {
  const session::Operation* operation = nullptr;
  std::string because;  // why it is where it is in the list: "next after the last finished operation of its stream"
  // How many stream operations the process had issued up to and including this one; nothing if rings lost too much.
  std::optional<std::uint64_t> process_ordinal;
  // For a launched graph: the node that may have failed; null: not known. `nodes` nodes of its line may have; the first
  // is `node`, number `node_index` (from 1) of `nodes_of_graph`.
  const session::GraphNode* node = nullptr;
  std::uint32_t node_index = 0, nodes_of_graph = 0, nodes = 1;
  std::uint32_t changed = 0;  // site of the call that has given it other parameters since; 0: they are those of its own
  bool made_apart = false;    // `nodes` were made at several sites, before that call
  bool alike = true;          // `nodes` are of one type and kernel
  bool same_shape = true;     // and of one grid and block

  // Where its value was recorded.
  std::uint32_t site() const { return changed != 0 ? changed : node != nullptr ? node->site : operation->site; }
};

// For a hang: since when there was no progress, and which threads wait.
struct Standstill {
  double seconds = 0;
  const session::Thread* thread = nullptr;     // null: no thread waits inside a call
  std::uint32_t site = 0;                      // of that call
  const session::Operation* issues = nullptr;  // that it issues, where it does
  std::optional<StreamWait> wait{};            // what the first candidate waits for, where it does
  const session::Stall* stall = nullptr;  // found while the program ran, which may have worked on; null: it was not
};

struct Failure {
  Kind kind = Kind::async_error;
  std::uint32_t code = 0;  // CUresult; for a runtime-only error cudaError_t; 0: no call has failed
  bool runtime_code = false;
  const session::Process* process = nullptr;
  const session::FailedCall* reported = nullptr;  // the call that returned it; null when its record was lost
  const session::FailedCall* noticed = nullptr;   // a call that met what `reported` had done; null: `reported` itself
  // A call of the same thread that had failed before, with nothing issued in between; null: none. Of asynchronous
  // failures an allocation, where the operation was given a null pointer.
  const session::FailedCall* swallowed = nullptr;
  // Asynchronous failures: most likely first; one if bracketed or proven, or several calls of one line where only a
  // rerun named it. Synchronous ones: empty, the failed call is `reported`. Kind::graph_node: the first one's node
  // leads. If candidates have nodes and the kind is async_error, the launch of the graph is known, and the candidates
  // are its nodes.
  std::vector<Candidate> candidates;
  std::size_t unlisted = 0;   // further candidates, beyond the most that are listed
  bool records_lost = false;  // there are no candidates because a ring has lost likely ones
  bool damaged = false;       // the recording is damaged: it does not have the operation, or not where that was issued
  Grade grade = Grade::suspected;
  Reasons because;
  const session::StalePointer* stale = nullptr;  // Kind::graph_stale_pointer
  std::optional<Standstill> hang;                // Kind::hang
  // A rerun proved the code, at another call of it than the candidates, or at one that is not listed.
  bool call_not_known = false;
  // The same operation in the rerun that confirmed it, and the process there; null: there was none.
  const session::Operation* again = nullptr;
  const session::Process* again_process = nullptr;
  // In a rerun: why it is not proven though it was waited for while nothing else that was recorded was running; empty:
  // it is proven, or was not waited for so.
  std::string unproven;
  // A file of its code, as the record names it, that was written before a rerun: that neither proved nor refuted it.
  std::string rewritten;
};

// The outcome of a rerun.
struct Rerun {
  enum class Outcome {
    proven,        // the operation that failed was waited for
    unproven,      // the same operation failed, and that proves nothing (Failure::unproven)
    failed,        // it failed again, elsewhere than where it was waited for
    given_up,      // it failed again, where waiting had been given up
    other,         // it failed at an operation that the first run had not suspected, or that was ruled out since
    did_not_fail,  // it ended without a failure of this kind
    cut_short,     // it was ended before it could say anything
    not_reached,   // it ended without a failure, before it reached what may have failed
    not_watched,   // it was not for this: without the recorder, say, for a GPU core dump
    not_recorded,  // the recorder could not watch it
    kept_from,     // it did not fail, but isolation had refused something: this proves nothing
  };
  // The failure came again, wherever.
  bool came_back() const {
    return outcome == Outcome::proven || outcome == Outcome::unproven || outcome == Outcome::failed ||
           outcome == Outcome::given_up;
  }

  Outcome outcome = Outcome::did_not_fail;
  std::uint64_t waits = 0;         // operations that were waited for
  Ending end{};                    // of its command
  bool gave_up = false;            // waiting: some operation took too long, and the rest continued as in the first run
  std::optional<Failure> failure;  // its own first one; `process` is one of the rerun
  // For a rerun without the recorder, for a GPU core dump: whether the failure came again, by the dump or by the end of
  // the program. Nothing: neither decides.
  std::optional<bool> failed_unwatched{};
  bool other_text = false;  // code of the failing operation had been edited: the rerun says nothing about it
  bool disturbed = false;   // it did not fail, and the Python hook, which took values in it, may be why
};

// A failure that did not recur where a rerun waited for it. Waiting is the reason only if the failure recurs without
// it.
enum class Vanished {
  no,              // it came back, or none that waited ended without it
  race,            // every rerun that waited for nothing failed again
  comes_and_goes,  // one that waited for nothing did not fail either
  open,            // none is known to have gone without waiting
};

// The sites whose lines a note names, at offset `at` of its text.
struct NotedCalls {
  const session::Process* process = nullptr;
  std::vector<std::uint32_t> sites;
  std::size_t at = 0;
};

struct Note {
  NoteCode code = NoteCode::other;
  std::string text;
  std::optional<NotedCalls> calls{};
};

// The ranks of a job that stands still, by NCCL's communicators.
struct JobGroups {
  GroupAnswer answer;
  std::vector<RankState> states;
  std::vector<const session::Process*> processes;  // of the states
};

struct Analysis {
  Verdict verdict = Verdict::no_cuda_failure;
  // Earliest first, then the `suspected` ones, also by time: a guess never leads if something was measured.
  std::vector<Failure> failures;
  std::vector<Note> notes;           // of the launcher and the recorders too
  std::optional<Grade> first_grade;  // of the first failure, before reruns had their say
  std::vector<Rerun> reruns;         // of session.reruns, one each
  Vanished vanished = Vanished::no;  // the asynchronous failures
  // For a job of several ranks that hung in a collective, or ended badly without a failure.
  std::optional<Ranks> ranks;
  std::optional<JobGroups> groups;  // likewise, where the communicators are known; `ranks` is empty then
};

// Whether two call sites of a process are on one line, which only symbols show: in an unrolled loop, for example.
using SameLine = std::function<bool(const session::Process&, std::uint32_t, std::uint32_t)>;

// By which failures are ordered, those of several sessions too.
struct FailureOrder {
  bool is_guess = false, hangs = false, in_collective = false;
  double time = 0;  // seconds since the epoch
  auto operator<=>(const FailureOrder&) const = default;
};
FailureOrder order_of(const Failure& failure);

// Whether `a` comes before `b` in a report. If `b` is of another session, the clocks of their hosts decide.
bool comes_before(const Failure& a, const Failure& b);

// Whether NCCL told of the communicators of all processes that called collectives, and of any.
bool knows_groups(const std::vector<const session::Process*>& processes);

// Nothing: the ranks do not stand still by what their groups say. `hangs`: as group_answer's.
std::optional<JobGroups> job_groups(const std::vector<const session::Process*>& processes, bool hangs);

// Without `same_line` each site is a line of its own.
Analysis analyse(const session::Session& session, const SameLine& same_line = {});

}  // namespace cudadiag::analyse
