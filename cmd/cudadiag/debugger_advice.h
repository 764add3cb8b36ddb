// Advice for the user if cudadiag cannot run cuda-gdb on a GPU core dump.
#pragma once

#include <filesystem>
#include <string>

namespace cudadiag::command {

// Returns advice, with a command that the user can paste, as the end of a message.
std::string debugger_advice(const std::filesystem::path& dump);

}  // namespace cudadiag::command
