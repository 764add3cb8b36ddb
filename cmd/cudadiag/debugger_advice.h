// Advice for users if cudadiag cannot run cuda-gdb on a GPU core dump.
#pragma once

#include <filesystem>
#include <string>

namespace cudadiag::command {

// The remedy, with a command to paste.
std::string debugger_advice(const std::filesystem::path& dump);

}  // namespace cudadiag::command
