// Disassembles the failing code with NVIDIA's disassembler, if that is installed. The disassembler comes with the
// toolkit rather than the driver, so nothing may depend on it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "evidence/testimony.h"
#include "launch/process.h"
#include "session/session_writer.h"

namespace cudadiag::supervise {

// Returns the output of nvdisasm, whose path is `tool`. Empty if the tool does not exist, fails, takes longer than
// a few seconds or prints more than 16 MiB.
std::string disassembled(const evidence::FunctionCode& code, const std::string& tool, launch::SignalRelay& relay);
// Returns the failing instruction in `text`, the output of nvdisasm: "STG.E desc[UR4][R2.64], R5". Empty if it is
// missing.
std::string failing_instruction(const evidence::FunctionCode& code, const std::string& text);

// Stores the disassembled code of the failing kernel next to `dump`, a dump in the current pass of `writer`. A report
// computes the failing address from it, and runs no tools itself. Stores
// nothing if the dump is missing or lacks this code, or if `command` has no nvdisasm. Returns the reason if storing
// fails.
std::optional<base::Error> store_failing_code(const std::string& dump, session::SessionWriter& writer,
                                              const std::vector<std::string>& command, launch::SignalRelay& relay);

}  // namespace cudadiag::supervise
