// The environment variables in which job launchers pass the number of ranks and the process's own rank. The recorder
// stores the rank of each process. The launcher reads the number of ranks before an automatic rerun.
#pragma once

namespace cudadiag::wire {

struct RankVariables {
  const char* size;
  const char* rank;
};

inline constexpr RankVariables kRankVariables[] = {{"WORLD_SIZE", "RANK"},  // torchrun, accelerate
                                                   {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                                   {"PMI_SIZE", "PMI_RANK"},
                                                   {"MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"},
                                                   {"SLURM_NTASKS", "SLURM_PROCID"}};

}  // namespace cudadiag::wire
