// The settings that the launcher passes to the recorder, in environment variables of the target.
#pragma once

namespace cudadiag::wire::environment {

// A variable of the CUDA driver: the path of a library. cuInit loads this library and calls its InitializeInjection().
inline constexpr const char* kInjection = "CUDA_INJECTION64_PATH";
// The value of CUDA_INJECTION64_PATH before the launcher changed it. The recorder initialises this library first.
inline constexpr const char* kEarlierInjection = "CUDADIAG_EARLIER_INJECTION";

// Path of the arena (wire/arena.h): "/proc/LAUNCHER/fd/N". If it is unset or cannot be opened, the recorder uses
// kSession.
inline constexpr const char* kArena = "CUDADIAG_ARENA";
// The folder in which a recorder that cannot reach an arena writes its area: `PID.area`, or `PID-2.area` and so on.
inline constexpr const char* kSession = "CUDADIAG_SESSION";
// The kind of pass: "record" or "confirm". The target may read it too.
inline constexpr const char* kPass = "CUDADIAG_PASS";
// In a rerun, the operations to wait for (window.h).
inline constexpr const char* kWindow = "CUDADIAG_WINDOW";
// The Python lines at which to read values (values.h). Set in a rerun, or if the user watches lines.
inline constexpr const char* kValues = "CUDADIAG_VALUES";
// Options for the checks of `cudadiag nans`, comma-separated: also-inf, blocking, history=N
// (lib/python/cudadiag_hook/bad_values/nans.py).
inline constexpr const char* kNans = "CUDADIAG_NANS";
// The time limit in seconds of a rerun that traces bad values (lib/python/cudadiag_hook/bad_values/origins.py).
inline constexpr const char* kOrigins = "CUDADIAG_ORIGINS";
// "on" in a run of `cudadiag races --tensors`.
inline constexpr const char* kTensorRaces = "CUDADIAG_TENSOR_RACES";
// In a run with --graph-memory, the path of the recorder, which the Python hook asks for the addresses in graphs.
inline constexpr const char* kGraphMemory = "CUDADIAG_GRAPH_MEMORY";
// The recording options (record_options.h).
inline constexpr const char* kRecord = "CUDADIAG_RECORD";
// Colon-separated paths of libcupti, best first. The recorder tries them if the process has not loaded libcupti.
inline constexpr const char* kCupti = "CUDADIAG_CUPTI";

// A variable of NCCL: the library to load as the profiler plugin. "none", in upper or lower case, means no plugin.
inline constexpr const char* kProfilerPlugin = "NCCL_PROFILER_PLUGIN";
// The profiler plugin that the user chose. The recorder forwards NCCL's events to it. If this is unset, the recorder
// uses NCCL's default plugin.
inline constexpr const char* kProfiler = "CUDADIAG_NCCL_PROFILER";

}  // namespace cudadiag::wire::environment

namespace cudadiag::wire {

// The environment variables in which job launchers pass the number of ranks and the process's own rank. The recorder
// stores the rank of each process. The launcher reads the number of ranks before an automatic rerun.
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
