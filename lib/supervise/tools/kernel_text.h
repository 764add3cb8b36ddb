// Disassembles the machine code of a kernel with NVIDIA's disassembler.
#pragma once

#include <string>
#include <string_view>

#include "supervise/tools/kernel_code.h"

namespace cudadiag::supervise {

// `tool` is the path of nvdisasm. Returns "" if it fails or takes longer than ten seconds. Thread-safe.
std::string kernel_text(const std::string& tool, const KernelCode& code);

// Converts nvdisasm's JSON (--emit-json, from CUDA 12.8 on) to the lines that nvdisasm prints as text. Returns "/*0070*/ @P0 LDG.E R5,desc[UR4][R4.64] ;" for each instruction. Empty unless this is the JSON of one
// function.
std::string lines_of_json(std::string_view json);

}  // namespace cudadiag::supervise
