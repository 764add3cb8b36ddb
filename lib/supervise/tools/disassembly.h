// The code that failed as NVIDIA's disassembler shows it, where that is installed. It is never required: it comes
// with the toolkit and not with the driver.
#pragma once

#include <string>

#include "evidence/testimony.h"
#include "launch/process.h"

namespace cudadiag::supervise {

// The code as `tool` prints it, nvdisasm's path; empty if there is none, or it fails, takes longer than a few seconds
// or prints more than 16 MiB.
std::string disassembled(const evidence::FunctionCode& code, const std::string& tool, launch::SignalRelay& relay);
// The failing instruction in that text: "STG.E desc[UR4][R2.64], R5". Empty if it is not there.
std::string failing_instruction(const evidence::FunctionCode& code, const std::string& text);

}  // namespace cudadiag::supervise
