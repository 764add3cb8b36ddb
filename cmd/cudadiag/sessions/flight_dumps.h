// Finds the dumps of PyTorch's Flight Recorder that belong to the ranks of a job, and reads them.
//
// PyTorch writes one file for each rank: a prefix, and the number of the rank. The prefix is looked for in this order:
//   1. the one that was named by the user
//   2. TORCH_FR_DUMP_TEMP_FILE or TORCH_NCCL_DEBUG_INFO_TEMP_FILE of the rank's process
//   3. if the process had neither: PyTorch's defaults below the cache folder and /tmp, and the process's working folder
// A file that nobody named must belong to the reader. A file of a rank that is in a session must be of the same run: its
// calls were made while the process ran, and the process called no collective after them.
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
  std::vector<JobSession*> owners;  // of the states; null: no session has this rank
  std::vector<std::string> files;   // likewise
  std::vector<base::Error> refused;
};

// `named`: a prefix, or a folder with the dumps of one job. `foreign_too`: files that only a session of somebody else
// names are read as well.
base::Result<DumpedRanks> dumped_ranks(JobSessions& job, const std::optional<std::string>& named, bool foreign_too);

}  // namespace cudadiag::command
