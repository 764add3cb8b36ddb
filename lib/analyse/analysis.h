// First failures: what went wrong in the recorded processes, before any symbol or source line is looked up. Pointers
// refer to the analysed Session, which must outlive the Analysis.
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

// Failures of GPU work. The call that returned the error did not cause it.
constexpr bool is_asynchronous(Kind kind) {
  return kind == Kind::async_error || kind == Kind::graph_node || kind == Kind::graph_stale_pointer;
}

struct Candidate {
  const session::Operation* operation = nullptr;
  std::string because;  // the reason for its place in the list: "follows the last finished operation of its stream"
  // How many stream operations the process had issued, including this one; nullopt if the rings lost too many records.
  std::optional<std::uint64_t> process_ordinal;
  // The node of the launched graph that may have failed; null if unknown. If `nodes` nodes of one line may have failed,
  // `node` is the first of them. `node_index` is its number, from 1 to `nodes_of_graph`.
  const session::GraphNode* node = nullptr;
  std::uint32_t node_index = 0, nodes_of_graph = 0, nodes = 1;
  std::uint32_t changed = 0;  // call site that last changed the node's parameters; 0 if unchanged since its creation
  bool made_apart = false;    // `nodes` were created at several sites, then changed at one
  bool alike = true;          // `nodes` have the same type and kernel
  bool same_shape = true;     // `nodes` have the same grid and block

  // The call site that set the parameters of the node or operation.
  std::uint32_t site() const { return changed != 0 ? changed : node != nullptr ? node->site : operation->site; }
};

// A hang: how long there has been no progress, and what is waiting.
struct Standstill {
  double seconds = 0;
  const session::Thread* thread = nullptr;     // null if no thread waits inside a call
  std::uint32_t site = 0;                      // of the call in which `thread` waits
  const session::Operation* issues = nullptr;  // the operation that the call issues, if any
  std::optional<StreamWait> wait{};            // what the first candidate waits for, if anything
  const session::Stall* stall = nullptr;       // set if the hang was found while the program ran; it may have recovered
};

struct Failure {
  Kind kind = Kind::async_error;
  std::uint32_t code = 0;  // CUresult, or cudaError_t for a runtime-only error; 0 if no call failed
  bool runtime_code = false;
  const session::Process* process = nullptr;
  const session::FailedCall* reported = nullptr;  // the call that returned the error; null if its record was lost
  const session::FailedCall* noticed = nullptr;   // a later call that failed for the same reason; null if there is none
  // An earlier failed call of the same thread, if it issued nothing in between; otherwise null. For an asynchronous
  // failure, this is a failed allocation that gave the operation a null pointer.
  const session::FailedCall* swallowed = nullptr;
  // For asynchronous failures, the most likely candidate first; a bracketed or proven failure has only one. If a rerun
  // proved only the line, the candidates are the calls on that line. For synchronous failures this is empty, because
  // `reported` is the failed call.
  // Kind::graph_node: the answer is the node of the first candidate. Kind::async_error with nodes: the graph launch is
  // known, and the candidates are its nodes.
  std::vector<Candidate> candidates;
  std::size_t unlisted = 0;   // how many more candidates there are than `candidates` can list
  bool records_lost = false;  // `candidates` is empty because a ring lost the likely ones
  bool damaged = false;       // the recording is damaged, and lacks the operation or its call site
  Grade grade = Grade::suspected;
  Reasons because;
  const session::StalePointer* stale = nullptr;  // Kind::graph_stale_pointer
  std::optional<Standstill> hang;                // Kind::hang
  // A rerun proved which code failed, but the call that failed in this run is not a candidate, or is not listed.
  bool call_not_known = false;
  // The same operation in the rerun that confirmed it, and its process there; null if no rerun confirmed it.
  const session::Operation* again = nullptr;
  const session::Process* again_process = nullptr;
  // In a rerun: why the failure is not proven, although the rerun waited for the operation while no other recorded
  // operation was in flight. Empty if the failure is proven, or if the rerun did not wait alone.
  std::string unproven;
  // If the user edited the failing code before a rerun: its source file, with the recorded path. That rerun proves
  // nothing.
  std::string rewritten;
};

// The outcome of a rerun.
struct Rerun {
  enum class Outcome {
    proven,        // the rerun waited for the operation that failed
    unproven,      // the same operation failed, but this proves nothing (see Failure::unproven)
    failed,        // it failed again, but not at an operation that the rerun waited for
    given_up,      // it failed again after the rerun had stopped waiting
    other,         // it failed at an operation that was not suspected, or that has been ruled out since
    did_not_fail,  // it ended without a failure of this kind
    cut_short,     // something ended it before it could show anything
    not_reached,   // it ended without a failure before it reached any suspect
    not_watched,   // it had another purpose, such as a GPU core dump without the recorder
    not_recorded,  // the recorder could not watch it
    kept_from,     // it did not fail, but isolation had denied it something, so it proves nothing
  };
  // Returns whether the same failure happened again, at any operation.
  bool came_back() const {
    return outcome == Outcome::proven || outcome == Outcome::unproven || outcome == Outcome::failed ||
           outcome == Outcome::given_up;
  }

  Outcome outcome = Outcome::did_not_fail;
  std::uint64_t waits = 0;         // how many operations it waited for
  Ending end{};                    // of the rerun's command
  bool gave_up = false;            // an operation took too long, so the rerun stopped waiting for operations
  std::optional<Failure> failure;  // its own first failure; `process` is in the rerun
  // For a rerun for a GPU core dump, which runs without the recorder: whether the failure recurred, according to the
  // dump or to how the program ended. nullopt if neither tells.
  std::optional<bool> failed_unwatched{};
  bool other_text = false;  // the user edited the code of the failing operation, so the rerun says nothing about it
  bool disturbed = false;   // it did not fail, perhaps because the Python hook was reading values
};

// Whether waiting made a failure disappear. This is so only if reruns that wait do not fail, and reruns that do not
// wait fail.
enum class Vanished {
  no,              // it recurred, or every rerun that waited failed
  race,            // every rerun without waiting failed again
  comes_and_goes,  // a rerun without waiting did not fail either
  open,            // no rerun without waiting is known to have succeeded
};

// Call sites whose lines are inserted into a note's text at offset `at`, once symbols are available.
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

// The ranks of a hanging job, according to NCCL's communicators.
struct JobGroups {
  GroupAnswer answer;
  std::vector<RankState> states;
  std::vector<const session::Process*> processes;  // in the order of `states`
};

struct Analysis {
  Verdict verdict = Verdict::no_cuda_failure;
  // Earliest first, then the `suspected` ones, also by time: a guess never comes before a measured failure.
  std::vector<Failure> failures;
  std::vector<Note> notes;           // includes those of the launcher and the recorders
  std::optional<Grade> first_grade;  // of the first failure, before reruns changed it
  std::vector<Rerun> reruns;         // one for each of session.reruns
  Vanished vanished = Vanished::no;  // of asynchronous failures
  // Set for a job of several ranks if it hung in a collective, or failed without a CUDA failure.
  std::optional<Ranks> ranks;
  std::optional<JobGroups> groups;  // likewise, if the communicators are known; `ranks` is then empty
};

// Returns whether two call sites of a process are on the same line, as in an unrolled loop. Needs symbols, so the
// caller supplies it.
using SameLine = std::function<bool(const session::Process&, std::uint32_t, std::uint32_t)>;

// Sorts failures, including those of different sessions: smaller comes first.
struct FailureOrder {
  bool is_guess = false, hangs = false, in_collective = false;
  double time = 0;  // seconds since the epoch
  auto operator<=>(const FailureOrder&) const = default;
};
FailureOrder order_of(const Failure& failure);

// Returns whether `a` comes before `b` in a report. Across sessions, this relies on the clocks of their hosts.
bool comes_before(const Failure& a, const Failure& b);

// Returns whether at least one process called collectives, and NCCL reported the communicators of every process that
// did.
bool knows_groups(const std::vector<const session::Process*>& processes);

// Returns nullopt if the groups do not show a hang. `hangs`: see group_answer.
std::optional<JobGroups> job_groups(const std::vector<const session::Process*>& processes, bool hangs);

// Without `same_line`, each site counts as a separate line.
Analysis analyse(const session::Session& session, const SameLine& same_line = {});

}  // namespace cudadiag::analyse
