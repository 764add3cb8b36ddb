// The failing code as NVIDIA's disassembler prints it, if that is installed. It is optional, because it comes with the
// toolkit and not with the driver.
#pragma once

#include <string>

#include "evidence/testimony.h"
#include "launch/process.h"

namespace cudadiag::supervise {

// Returns the output of `tool`, the path of nvdisasm. Empty if the tool is missing, fails, takes longer than a few
// seconds or prints more than 16 MiB.
std::string disassembled(const evidence::FunctionCode& code, const std::string& tool, launch::SignalRelay& relay);
// Returns the failing instruction in that text, such as "STG.E desc[UR4][R2.64], R5"; empty if it is missing.
std::string failing_instruction(const evidence::FunctionCode& code, const std::string& text);

}  // namespace cudadiag::supervise
