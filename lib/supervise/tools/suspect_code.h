// Stores the machine code of kernels that may have failed in the first run, because reports run no tools.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "diagnose/session_state.h"
#include "session/notes/kernel_code.h"

namespace cudadiag::supervise {

// Returns the mangled names of the kernels among the candidates of failures with an address error.
std::vector<std::string> suspected_kernels(diagnose::SessionState& state);

// Returns all code of these kernels. `modules` is the folder where the recorder stores images. Omits a kernel if some
// of its code cannot be read. `disassembler` is the path of nvdisasm.
std::vector<session::KernelCode> code_of(const std::vector<std::string>& kernels, const std::filesystem::path& modules,
                                         const std::string& disassembler);

}  // namespace cudadiag::supervise
