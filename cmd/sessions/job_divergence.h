// Finds the call at which the ranks of a job diverge. Uses the groups that NCCL reported. Without groups, it uses the
// dumps of PyTorch's Flight Recorder. Without dumps, it uses the order of the kernels.
#pragma once

#include <optional>
#include <string>

#include "diagnose/communicator_divergence.h"
#include "diagnose/ranks.h"
#include "sessions/job_sessions.h"

namespace cudadiag::command {

// At most one is set.
struct Divergence {
  std::optional<diagnose::GroupsPart> groups;
  std::optional<diagnose::RanksPart> ranks;
};

struct DivergenceOptions {
  // Folder or path prefix of the dumps of the Flight Recorder; nullopt: search where PyTorch writes them.
  std::optional<std::string> flight_recorder;
  bool foreign = false;  // also read the dumps of ranks in sessions that may belong to another user
};

// `first`: the first failure of the job, which must be a hang; null if nothing failed. Prints a message for each dump
// that cannot be used. Throws a base::Error if a session cannot be read.
Divergence find_divergence(JobSessions& job, const SessionFailure* first, const DivergenceOptions& options);

}  // namespace cudadiag::command
