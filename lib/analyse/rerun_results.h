// Combines the failures of the reruns with those of the first run, and compares the reruns with each other.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyse/failure.h"
#include "analyse/notes.h"
#include "analyse/process_ending.h"
#include "session/session.h"

namespace cudadiag::analyse {

struct Rerun {
  enum class Outcome {
    proven,        // the program failed at an operation for which the rerun waited
    unproven,      // the same operation failed, but this proves nothing (see Failure::unproven)
    failed,        // the program failed again, but not at an operation for which the rerun waited
    given_up,      // the program failed again after the rerun had stopped waiting for operations
    other,         // the program failed at an operation that was not suspected, or has been ruled out since
    did_not_fail,  // the program ended without a failure of this kind
    cut_short,     // the rerun was interrupted before it could show anything
    not_reached,   // the program ended without a failure before it reached any suspect
    not_watched,   // the rerun had another purpose, such as a GPU core dump without the recorder
    not_recorded,  // the recorder could not watch the program
    kept_from,     // the program did not fail, but isolation denied it something, so this proves nothing
  };
  // Returns whether the failure recurred, at the same operation or at another one.
  bool came_back() const {
    return outcome == Outcome::proven || outcome == Outcome::unproven || outcome == Outcome::failed ||
           outcome == Outcome::given_up;
  }

  Outcome outcome = Outcome::did_not_fail;
  std::uint64_t waits = 0;         // how many operations the rerun waited for
  Ending end{};                    // how the rerun's command ended
  bool gave_up = false;            // an operation took too long, so the rerun stopped waiting for operations
  std::optional<Failure> failure;  // first failure of the rerun; its `process` belongs to the rerun
  // For a rerun without the recorder, made to get a GPU core dump: whether the failure recurred, as shown by the dump
  // or the program's exit. nullopt if unknown.
  std::optional<bool> failed_unwatched{};
  bool other_text = false;  // the user edited the code of the failing operation, so the rerun says nothing about it
  bool traced = false;      // the Python hook traced bad values
  // The program did not fail in the same way, perhaps because the Python hook was reading values or tracing them.
  bool disturbed = false;
};

// Whether the failure disappears when a rerun waits for operations.
enum class Vanished {
  no,              // the failure recurred, or no rerun waited for operations and succeeded
  race,            // a rerun without waiting failed again, and none succeeded
  comes_and_goes,  // a rerun without waiting succeeded, too
  open,            // no result of a rerun without waiting is known
};

// Evaluates session.reruns, and returns a result for each. Merges them into `failures`, which contains the failures of
// the record pass. If a rerun fails at a different operation, its failure is added as a separate one.
std::vector<Rerun> join_reruns(const session::Session& session, std::vector<Failure>& failures,
                               std::vector<Note>& notes);

Vanished vanished(const std::vector<Rerun>& reruns);

// Returns true if a rerun proved that the operation fails with nothing else on the GPU, which rules out a race. Always
// false for a graph, because its nodes can run at the same time.
bool failed_alone(const Failure& failure);

}  // namespace cudadiag::analyse
