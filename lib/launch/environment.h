// Prepares the target's environment, so that the driver loads the recorder and the recorder gets its settings.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "session/session.h"
#include "wire/environment.h"

namespace cudadiag::launch {

struct Variable {
  std::string name, value;
};

struct RecordingPlace {
  std::string arena;                  // if empty, the recorder writes to `pass_folder`
  std::filesystem::path pass_folder;  // may also be empty
  std::string pass = "record";        // the value of CUDADIAG_PASS
  std::string window;                 // see wire/rerun.h; empty if the recorder waits for no operation
  std::string values = "";            // see wire/rerun.h; empty if the hook reads no values
};

// Returns the environment variables to set for the target.
std::vector<Variable> recording_variables(const std::filesystem::path& recorder, const RecordingPlace& place,
                                          const std::vector<std::filesystem::path>& cupti,
                                          const wire::RecordOptions& options);

// Returns this process's environment with `changes` applied, in the form that execve() takes.
std::vector<std::string> environment_with(const std::vector<Variable>& changes);
// Like environment_with(), but removes CUDA_INJECTION64_PATH, because the driver writes no core dumps while it is set.
std::vector<std::string> environment_without_injection(const std::vector<Variable>& changes);

// Returns a warning if a run ignores the user's injection library, because that is the recorder of another cudadiag
// installation; otherwise "".
std::string dropped_injection(const std::filesystem::path& recorder);

// Returns what is wrong with the plugin that the user chose by its path; nullopt if nothing is. The user's plugin is
// the one in $NCCL_PROFILER_PLUGIN, or in NCCL's files ($NCCL_CONF_FILE or ~/.nccl.conf, then /etc/nccl.conf). The
// recorder loads no plugin that has a fault: a truncated one would crash the program.
std::optional<base::Error> fault_in_profiler(const std::filesystem::path& recorder);

// Makes NCCL load the recorder as a profiler plugin before the user's plugin, so that it reports its communicators.
// Returns no variables if the user turned profilers off ("none").
std::vector<Variable> profiler_variables(const std::filesystem::path& recorder);

}  // namespace cudadiag::launch
