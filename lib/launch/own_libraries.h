// Finds the libraries of cudadiag that run inside the program, and checks them before the program starts. A damaged
// library would otherwise leave the program unrecorded without a message. `run`, `env` and `doctor` print the same
// errors and remedies.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

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

// Returns what is wrong with a library that the user chose. Checks only that it is readable, complete, and built for this
// processor. `remedy` is the hint for damage that only another file can repair.
std::optional<base::Error> fault_in_foreign(const std::filesystem::path& library, const std::string& remedy);

// Returns the recorder if it has no fault and, with `once`, if the preload library has none either.
base::Result<std::filesystem::path> usable_recorder(bool once);

}  // namespace cudadiag::launch
