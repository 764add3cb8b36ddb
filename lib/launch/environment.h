// The target's environment: what makes the CUDA driver load the recorder, and what the recorder needs to know.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "session/session.h"
#include "wire/names/record_options.h"

namespace cudadiag::launch {

// libcudadiag_record.so: $CUDADIAG_RECORDER, else lib/ or lib64/ beside this program's folder.
base::Result<std::filesystem::path> find_recorder();

// Copies of libcupti that a target may use if it has none loaded, best first: $CUDADIAG_CUPTI, $LD_LIBRARY_PATH,
// $CUDA_HOME, /usr/local/cuda*, the system's, the wheels of the Python environment that `command` runs in. Nothing is
// run to find them.
std::vector<std::filesystem::path> find_cupti(const std::vector<std::string>& command);
// A sentence about each element of $CUDADIAG_CUPTI that is not a file.
std::vector<std::string> missing_cupti();
// The remedy for them.
inline constexpr const char* kCorrectCupti = "correct it, or unset it";

// The elements of a variable that is a list of paths.
std::vector<std::string> listed_paths(const char* variable);

// Folders of packages of the Python environment that `command` runs in, likeliest first: those of $VIRTUAL_ENV, and of
// the prefix that the command lies in if an interpreter lies beside it.
std::vector<std::filesystem::path> python_packages(const std::vector<std::string>& command);
// The file of this name below those folders, likeliest first, unless some other user can write it (chosen_path.h).
std::vector<std::filesystem::path> files_in_python_packages(const std::vector<std::string>& command,
                                                            const std::filesystem::path& name);

struct Variable {
  std::string name, value;
};

struct RecordingPlace {
  std::string arena;                  // may be empty: the recorder then writes to `pass_folder`
  std::filesystem::path pass_folder;  // may be empty too
  std::string pass = "record";        // the value of CUDADIAG_PASS
  std::string window;                 // wire/rerun/window.h; empty: nothing is waited for
  std::string values = "";            // wire/rerun/values.h; empty: none are taken
};

// The environment variables for the target.
std::vector<Variable> recording_variables(const std::filesystem::path& recorder, const RecordingPlace& place,
                                          const std::vector<std::filesystem::path>& cupti,
                                          const wire::RecordOptions& options);

// This process's environment with `changes` on top, as execve takes it.
std::vector<std::string> environment_with(const std::vector<Variable>& changes);
// The same without CUDA_INJECTION64_PATH: the driver writes no core dump while it names a library.
std::vector<std::string> environment_without_injection(const std::vector<Variable>& changes);

// A warning about an injection library that the user had set and that a run with these options leaves out; empty if
// none. Only a run that is to write a core dump leaves one out, and a recorder of another copy of cudadiag always is.
std::string dropped_injection(const std::filesystem::path& recorder, const wire::RecordOptions& options);

}  // namespace cudadiag::launch
