// Disassembles the machine code of a kernel with NVIDIA's disassembler.
#pragma once

#include <string>

#include "supervise/tools/kernel_code.h"

namespace cudadiag::supervise {

// `tool` is the path of nvdisasm. Returns "" if it fails or takes longer than ten seconds. Thread-safe.
std::string kernel_text(const std::string& tool, const KernelCode& code);

}  // namespace cudadiag::supervise
