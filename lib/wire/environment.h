// The settings that the launcher passes to the recorder, in environment variables of the target.
#pragma once

#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace cudadiag::wire::environment {

// A variable of the CUDA driver: the path of a library. cuInit loads this library and calls its InitializeInjection().
inline constexpr const char* kInjection = "CUDA_INJECTION64_PATH";
// The value of CUDA_INJECTION64_PATH before the launcher changed it. The recorder initialises this library first.
inline constexpr const char* kEarlierInjection = "CUDADIAG_EARLIER_INJECTION";

// Path of the arena (wire/area.h): "/proc/LAUNCHER/fd/N". If it is unset or cannot be opened, the recorder uses
// kSession.
inline constexpr const char* kArena = "CUDADIAG_ARENA";
// The folder in which a recorder that cannot reach an arena writes its area: `PID.area`, or `PID-2.area` and so on.
inline constexpr const char* kSession = "CUDADIAG_SESSION";
// The kind of pass: "record" or "confirm". The target may read it too.
inline constexpr const char* kPass = "CUDADIAG_PASS";
// In a rerun, the operations to wait for (rerun.h).
inline constexpr const char* kWindow = "CUDADIAG_WINDOW";
// The Python lines at which to read values (rerun.h). Set in a rerun, or if the user watches lines.
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
// The recording options (below).
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

// In a batch script, Slurm sets SLURM_NTASKS and SLURM_PROCID too, although the script is not a rank. Only srun sets
// SLURM_STEP_NUM_TASKS.
inline constexpr RankVariables kRankVariables[] = {{"WORLD_SIZE", "RANK"},  // torchrun, accelerate
                                                   {"HOROVOD_SIZE", "HOROVOD_RANK"},
                                                   {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                                   {"PMI_SIZE", "PMI_RANK"},
                                                   {"MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"},
                                                   {"FLUX_JOB_SIZE", "FLUX_TASK_RANK"},
                                                   {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}};

}  // namespace cudadiag::wire

// The recording options, as one environment variable that the launcher sets for the recorder (environment.h). The value
// is a list of NAME=WORD items, separated by commas:
//
//    markers=sparse|dense|off   python=on|off   native=on|off   races=on   host_writes=off   code=on
//    watch=cupti|hooks   once=on   nccl=on   end=on   save=MIB   check_copies=N
//
// An option keeps its default if its item is missing, or if its value is unknown to this version of the recorder.
namespace cudadiag::wire {

enum class Markers { sparse, dense, off };
// `automatic`: the recorder chooses (record/callback_source.h).
enum class WatchBy { automatic, cupti, hooks };

struct RecordOptions {
  Markers markers = Markers::sparse;
  bool python_stacks = true;
  bool native_stacks = true;
  bool races = false;
  bool host_writes = true;  // with `races`: find out whether the host changes the sources of copies
  bool code = false;        // store small images of device code, so that the code of a failing kernel can be examined
  WatchBy watch_by = WatchBy::automatic;
  bool once = false;            // this run writes a GPU core dump when it fails
  bool nccl = false;            // the recorder acts as NCCL's profiler plugin
  bool end_on_failure = false;  // the recorder ends the process after a sticky error
  unsigned save_limit = 0;      // MiB of memory to save with each launch that a rerun waits for; 0: save no launches
  unsigned check_copies = 0;  // without `races`: compare the source of one host-to-device copy in this many; 0: of none
  bool operator==(const RecordOptions&) const = default;
};

// Returns how a run with these options is watched. The driver writes no core dump while CUPTI is in use, so a run with
// `once` uses hooks.
constexpr WatchBy way_of(const RecordOptions& options) { return options.once ? WatchBy::hooks : options.watch_by; }

inline constexpr std::string_view kSave = "save=", kCheckCopies = "check_copies=";

constexpr std::string_view word(Markers markers) {
  return markers == Markers::dense ? "dense" : markers == Markers::off ? "off" : "sparse";
}

// Returns "" for `automatic`.
constexpr std::string_view word(WatchBy way) {
  return way == WatchBy::cupti ? "cupti" : way == WatchBy::hooks ? "hooks" : "";
}

// Returns `automatic` for any text other than "cupti" and "hooks".
constexpr WatchBy watch_by(std::string_view word) {
  return word == "cupti" ? WatchBy::cupti : word == "hooks" ? WatchBy::hooks : WatchBy::automatic;
}

inline std::string encode(const RecordOptions& options) {
  std::string out = "markers=";
  out += word(options.markers);
  out += options.python_stacks ? ",python=on" : ",python=off";
  out += options.native_stacks ? ",native=on" : ",native=off";
  if (options.races) out += ",races=on";
  if (!options.host_writes) out += ",host_writes=off";
  if (options.code) out += ",code=on";
  if (options.watch_by != WatchBy::automatic) out.append(",watch=").append(word(options.watch_by));
  if (options.once) out += ",once=on";
  if (options.nccl) out += ",nccl=on";
  if (options.end_on_failure) out += ",end=on";
  if (options.save_limit > 0) out.append(",").append(kSave).append(std::to_string(options.save_limit));
  if (options.check_copies > 0) out.append(",").append(kCheckCopies).append(std::to_string(options.check_copies));
  return out;
}

// Called in the recorder, so it must not allocate or throw.
inline RecordOptions parse_record_options(std::string_view text) {
  RecordOptions options;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view item(text.data(), comma == text.npos ? text.size() : comma);
    text.remove_prefix(comma == text.npos ? text.size() : comma + 1);
    if (item == "markers=dense") options.markers = Markers::dense;
    if (item == "markers=off") options.markers = Markers::off;
    if (item == "python=off") options.python_stacks = false;
    if (item == "native=off") options.native_stacks = false;
    if (item == "races=on") options.races = true;
    if (item == "host_writes=off") options.host_writes = false;
    if (item == "code=on") options.code = true;
    if (item == "watch=cupti") options.watch_by = WatchBy::cupti;
    if (item == "watch=hooks") options.watch_by = WatchBy::hooks;
    if (item == "once=on") options.once = true;
    if (item == "nccl=on") options.nccl = true;
    if (item == "end=on") options.end_on_failure = true;
    for (const auto& [name, number] : {std::pair(kSave, &options.save_limit), {kCheckCopies, &options.check_copies}}) {
      if (item.starts_with(name)) std::from_chars(item.data() + name.size(), item.data() + item.size(), *number);
    }
  }
  return options;
}

}  // namespace cudadiag::wire
