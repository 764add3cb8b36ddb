// Finds and reads the dumps of PyTorch's Flight Recorder that belong to the ranks of a job.
//
// PyTorch writes a file for each rank. Its path is a prefix and the rank number. The prefix comes from the first of
// these:
//   1. --flight-recorder, if the user gives it
//   2. TORCH_FR_DUMP_TEMP_FILE or TORCH_NCCL_DEBUG_INFO_TEMP_FILE of the rank's process
//   3. PyTorch's defaults below the cache folder and /tmp, and the same names in the process's working folder
// Without --flight-recorder, a file must belong to the current user. If a session contains the rank, the file must also
// be from the same run: its calls were made while the process ran, and the process called no collective after them.
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
  std::vector<JobSession*> owners;  // by state; null if no session has this rank
  std::vector<std::string> files;   // by state
  std::vector<base::Error> refused;
};

// `named`: a prefix, or a folder with the dumps of one job. `foreign_too`: also look for dumps of ranks in sessions
// that may belong to another user.
base::Result<DumpedRanks> dumped_ranks(JobSessions& job, const std::optional<std::string>& named, bool foreign_too);

}  // namespace cudadiag::command
