// Tells the user how to run cuda-gdb on a GPU core dump if cudadiag cannot run it.
#pragma once

#include <filesystem>
#include <string>

namespace cudadiag::command {

// Returns the end of a message: advice with a command that the user can paste.
std::string debugger_advice(const std::filesystem::path& dump);

}  // namespace cudadiag::command
