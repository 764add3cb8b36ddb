// The failures of the recorded processes, before symbols and source lines are looked up. Pointers refer to the analysed
// Session, which must outlive the Analysis.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyse/failure.h"
#include "analyse/grade.h"
#include "analyse/notes.h"
#include "analyse/rank_divergence.h"
#include "analyse/reruns.h"
#include "session/session.h"

namespace cudadiag::analyse {

enum class Verdict { cuda_failure, no_cuda_failure, inconclusive };
// The ranks of a hanging job, according to NCCL's communicators.
struct JobGroups {
  GroupAnswer answer;
  std::vector<RankState> states;
  std::vector<const session::Process*> processes;  // in the order of `states`
};

struct Analysis {
  Verdict verdict = Verdict::no_cuda_failure;
  // Sorted by order_of(): guesses come after measured failures, even if they are earlier.
  std::vector<Failure> failures;
  std::vector<Note> notes;           // includes those of the launcher and the recorders
  std::optional<Grade> first_grade;  // grade of the first failure before reruns changed it
  std::vector<Rerun> reruns;         // one for each of session.reruns
  Vanished vanished = Vanished::no;  // of asynchronous failures
  // Set for a job of several ranks if it hung in a collective, or exited with a failure but without a CUDA error.
  std::optional<Ranks> ranks;
  std::optional<JobGroups> groups;  // set instead of `ranks` if the communicators are known
};

// A key for sorting failures. Smaller keys come first. If the sessions of two failures differ, the order relies on the
// clocks of the hosts.
struct FailureOrder {
  bool is_guess = false, hangs = false, in_collective = false;
  double time = 0;  // seconds since the epoch
  auto operator<=>(const FailureOrder&) const = default;
};
FailureOrder order_of(const Failure& failure);

// Returns whether at least one process called collectives, and NCCL reported the communicators of every process that
// did.
bool knows_groups(const std::vector<const session::Process*>& processes);

// Without these functions, each site counts as a separate line.
Analysis analyse(const session::Session& session, const SameLine& same_line = {}, const CountedCalls& counted = {});

}  // namespace cudadiag::analyse
