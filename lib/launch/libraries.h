// Finds the libraries that run inside the program: cudadiag's own, and CUPTI. Checks its own before the program starts:
// a damaged one would otherwise leave the program unrecorded without a message. `run`, `env` and `doctor` print the
// same errors and remedies.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace cudadiag::launch {

// Returns $CUDADIAG_RECORDER, or the libcudadiag_record.so in lib/, lib64/ or lib/cudadiag/ next to this program's
// folder. Does not open it.
base::Result<std::filesystem::path> find_recorder();
// Returns the library that LD_PRELOAD names in a run with --once.
std::filesystem::path preload_library(const std::filesystem::path& recorder);

// Returns what is wrong with one of cudadiag's libraries, and the remedy; nullopt if programs can load it. Checks that
// it is readable, complete, built for this processor, and of this version. Finally loads it in a child process, which
// takes about 2 ms. Maps nothing before the size is checked: a mapped file that is too short raises SIGBUS.
std::optional<base::Error> fault_in(const std::filesystem::path& library);
// Like fault_in() for the preload library of this recorder, and checks that the dynamic linker accepts its path.
std::optional<base::Error> fault_in_preload(const std::filesystem::path& recorder);

// Returns what is wrong with a library that the user chose. Checks only that it is readable, complete, and built for
// this processor. `remedy` is the hint for damage that only another file can repair.
std::optional<base::Error> fault_in_foreign(const std::filesystem::path& library, const std::string& remedy);

// Returns the recorder if it has no fault and, with `once`, if the preload library has none either.
base::Result<std::filesystem::path> usable_recorder(bool once);

// Returns copies of libcupti for a target that has not loaded one itself, best first. Searches $CUDADIAG_CUPTI,
// $LD_LIBRARY_PATH, $CUDA_HOME, /usr/local/cuda*, the system's folders, and the wheels of the Python environment of
// `command`. Runs no program.
std::vector<std::filesystem::path> find_cupti(const std::vector<std::string>& command);
// Returns one sentence for each path in $CUDADIAG_CUPTI that is not a file.
std::vector<std::string> missing_cupti();
// The hint to print after each sentence from missing_cupti().
inline constexpr const char* kCorrectCupti = "correct it, or unset it";

// Splits an environment variable that contains a colon-separated list of paths.
std::vector<std::string> listed_paths(const char* variable);

// Returns the package folders of the Python environment that `command` uses, most likely first. The environment is
// $VIRTUAL_ENV, or the prefix that contains the command if there is an interpreter next to the command.
std::vector<std::filesystem::path> python_packages(const std::vector<std::string>& command);
// Returns the files named `name` in the folders from python_packages(), most likely first. Skips files that other users
// can write to.
std::vector<std::filesystem::path> files_in_python_packages(const std::vector<std::string>& command,
                                                            const std::filesystem::path& name);

}  // namespace cudadiag::launch
