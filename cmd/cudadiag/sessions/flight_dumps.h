// Finds and reads the dumps of PyTorch's Flight Recorder that belong to the ranks of a job.
//
// PyTorch writes one file per rank, whose path is a prefix followed by the rank number. The prefix is the first of
// these that is set:
//   1. --flight-recorder
//   2. TORCH_FR_DUMP_TEMP_FILE or TORCH_NCCL_DEBUG_INFO_TEMP_FILE in the environment of the rank's process
//   3. PyTorch's defaults below the cache folder and /tmp, and the same file names in the process's working folder
// Without --flight-recorder, only files of the current user are read. If a session contains the rank, its dump must
// come from the same run. All calls in the dump must have been made while the process ran. The process must not have
// called a collective after writing the dump.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyse/hangs/rank_state.h"
#include "base/result.h"
#include "sessions/job_sessions.h"

namespace cudadiag::command {

struct DumpedRanks {
  std::vector<analyse::RankState> states;
  std::vector<JobSession*> owners;  // one for each state; null if no session contains the rank
  std::vector<std::string> files;   // one for each state
  std::vector<base::Error> refused;
};

// `named`: a path prefix, or a folder with the dumps of one job. `foreign_too`: also read the dumps of ranks whose
// session may belong to another user.
base::Result<DumpedRanks> dumped_ranks(JobSessions& job, const std::optional<std::string>& named, bool foreign_too);

}  // namespace cudadiag::command
