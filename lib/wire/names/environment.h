// The settings that the launcher passes to the recorder, in environment variables of the target.
#pragma once

namespace cudadiag::wire::environment {

// The CUDA driver's own: the library whose InitializeInjection() it calls inside cuInit.
inline constexpr const char* kInjection = "CUDA_INJECTION64_PATH";
// The library that it named before the launcher put the recorder there. The recorder starts it first.
inline constexpr const char* kEarlierInjection = "CUDADIAG_EARLIER_INJECTION";

// Path of the arena (wire/arena.h): "/proc/LAUNCHER/fd/N". Unset or not to be opened: kSession is used.
inline constexpr const char* kArena = "CUDADIAG_ARENA";
// Folder in which a recorder that reaches no arena writes its area as `PID.area`, or `PID-2.area`, ….
inline constexpr const char* kSession = "CUDADIAG_SESSION";
// Which pass this is: "record" or "confirm". The target may look at it too.
inline constexpr const char* kPass = "CUDADIAG_PASS";
// In a rerun: what is waited for (window.h).
inline constexpr const char* kWindow = "CUDADIAG_WINDOW";
// The lines of Python at which values are taken (values.h), in a rerun or if the user watches some. Unset: none.
inline constexpr const char* kValues = "CUDADIAG_VALUES";
// The checks of `cudadiag nans`, comma-separated: also-inf, blocking, history=N
// (lib/python/cudadiag_hook/bad_values/nans.py).
inline constexpr const char* kNans = "CUDADIAG_NANS";
// In a rerun that traces bad values: the seconds that it may take (lib/python/cudadiag_hook/bad_values/origins.py).
inline constexpr const char* kOrigins = "CUDADIAG_ORIGINS";
// In a run of `cudadiag races --tensors`: "on".
inline constexpr const char* kTensorRaces = "CUDADIAG_TENSOR_RACES";
// The options of recording (record_options.h).
inline constexpr const char* kRecord = "CUDADIAG_RECORD";
// Colon-separated paths of libcupti to try when the process has none loaded, best first.
inline constexpr const char* kCupti = "CUDADIAG_CUPTI";

// NCCL's own: the library that it loads as its profiler plugin. "none" in any case: none.
inline constexpr const char* kProfilerPlugin = "NCCL_PROFILER_PLUGIN";
// The plugin that the user named, to which the recorder hands on what it was to get. Unset: NCCL's default one.
inline constexpr const char* kProfiler = "CUDADIAG_NCCL_PROFILER";

}  // namespace cudadiag::wire::environment
