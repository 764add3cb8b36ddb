// The failing instruction as NVIDIA's disassembler shows it, where that is installed. It is never required: it comes
// with the toolkit and not with the driver.
#pragma once

#include <string>

#include "evidence/testimony.h"

namespace cudadiag::supervise {

// "STG.E desc[UR4][R2.64], R5"; empty where there is no nvdisasm, or it fails or takes longer than a few seconds.
std::string failing_instruction(const evidence::FunctionCode& code);

}  // namespace cudadiag::supervise
