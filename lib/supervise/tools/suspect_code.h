// Keeps the machine code of kernels that may have failed in the first run, because a report runs no tools.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "diagnose/session_state.h"
#include "session/notes/kernel_code.h"

namespace cudadiag::supervise {

// Returns the mangled names of kernels with a failing address that are the only candidates of their failure.
std::vector<std::string> suspected_kernels(diagnose::SessionState& state);

// Returns every code of these kernels among the images in `modules`, the folder to which the recorder writes them. A
// kernel with a code that cannot be read is left out. `disassembler` is the path of nvdisasm.
std::vector<session::KernelCode> code_of(const std::vector<std::string>& kernels, const std::filesystem::path& modules,
                                         const std::string& disassembler);

}  // namespace cudadiag::supervise
