// Disassembles machine code with NVIDIA's disassembler, if that is installed. The disassembler comes with the
// toolkit rather than the driver, so nothing may depend on it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/testimony.h"
#include "session/session_writer.h"

namespace cudadiag::supervise {

// Returns what nvdisasm prints for these machine instructions: "/*0070*/ @P0 LDG.E R5, desc[UR4][R4.64] ;" and so on.
// `tool` is its path, and `architecture` is in its form: "SM90a". Returns "" if it does not exist, fails, takes longer
// than ten seconds or prints more than 64 MiB. It needs half a second to start, so the latest texts are kept.
// Thread-safe.
std::string disassembled(const std::string& tool, const std::string& architecture, std::string_view instructions);
std::string disassembled(const evidence::FunctionCode& code, const std::string& tool);
// Returns the failing instruction in `text`, the output of nvdisasm: "STG.E desc[UR4][R2.64], R5". Empty if it is
// missing.
std::string failing_instruction(const evidence::FunctionCode& code, const std::string& text);

// Stores the disassembled code of the failing kernel next to `dump`, a dump in the current pass of `writer`. A report
// computes the failing address from it, and runs no tools itself. Stores nothing if the dump is missing or lacks this
// code, or if `command` has no nvdisasm. Returns the reason if storing fails.
std::optional<base::Error> store_failing_code(const std::string& dump, session::SessionWriter& writer,
                                              const std::vector<std::string>& command);

}  // namespace cudadiag::supervise
