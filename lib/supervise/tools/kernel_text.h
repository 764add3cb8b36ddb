// The machine code of one kernel as NVIDIA's disassembler prints it.
#pragma once

#include <string>

#include "supervise/tools/kernel_code.h"

namespace cudadiag::supervise {

// Returns an empty text if nvdisasm, whose path is `tool`, fails or takes longer than ten seconds. Thread-safe.
std::string kernel_text(const std::string& tool, const KernelCode& code);

}  // namespace cudadiag::supervise
