// Prepares the target's environment, so that the CUDA driver loads the recorder, and passes settings to the recorder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "session/session.h"
#include "wire/names/record_options.h"

namespace cudadiag::launch {

// Returns libcudadiag_record.so: $CUDADIAG_RECORDER, or the one in lib/ or lib64/ next to this program's folder.
base::Result<std::filesystem::path> find_recorder();

// Returns copies of libcupti for a target that has not loaded one, best first. Looks in $CUDADIAG_CUPTI,
// $LD_LIBRARY_PATH, $CUDA_HOME, /usr/local/cuda*, the system's folders, and the wheels of the Python environment that
// `command` uses. Runs no program.
std::vector<std::filesystem::path> find_cupti(const std::vector<std::string>& command);
// Returns one sentence for each element of $CUDADIAG_CUPTI that is not a file.
std::vector<std::string> missing_cupti();
// The hint to print with each of these sentences.
inline constexpr const char* kCorrectCupti = "correct it, or unset it";

// Splits an environment variable that is a colon-separated list of paths.
std::vector<std::string> listed_paths(const char* variable);

// Returns the package folders of the Python environment that `command` uses, most likely first. They belong to
// $VIRTUAL_ENV, or to the prefix that contains the command if an interpreter is next to it.
std::vector<std::filesystem::path> python_packages(const std::vector<std::string>& command);
// Returns the files with this name in those package folders, most likely first. Skips files that other users can write
// to.
std::vector<std::filesystem::path> files_in_python_packages(const std::vector<std::string>& command,
                                                            const std::filesystem::path& name);

struct Variable {
  std::string name, value;
};

struct RecordingPlace {
  std::string arena;                  // may be empty; the recorder then writes to `pass_folder`
  std::filesystem::path pass_folder;  // may be empty too
  std::string pass = "record";        // the value of CUDADIAG_PASS
  std::string window;                 // see wire/rerun/window.h; empty if the recorder waits for nothing
  std::string values = "";            // see wire/rerun/values.h; empty if the hook reads no values
};

// Returns the environment variables to set for the target.
std::vector<Variable> recording_variables(const std::filesystem::path& recorder, const RecordingPlace& place,
                                          const std::vector<std::filesystem::path>& cupti,
                                          const wire::RecordOptions& options);

// Returns this process's environment with `changes` applied, in the form that execve takes.
std::vector<std::string> environment_with(const std::vector<Variable>& changes);
// Like environment_with(), but without CUDA_INJECTION64_PATH: the driver writes no core dumps while that is set.
std::vector<std::string> environment_without_injection(const std::vector<Variable>& changes);

// Returns a warning if a run with these options ignores the user's injection library, and an empty text otherwise. A
// run ignores that library if it writes a core dump, or if the library is the recorder of another copy of cudadiag.
std::string dropped_injection(const std::filesystem::path& recorder, const wire::RecordOptions& options);

}  // namespace cudadiag::launch
