// Writes what `cudadiag core` says about a GPU core dump, as text and as JSON.
#pragma once

#include <optional>
#include <string>

#include "diagnose/failure/failed_access.h"
#include "evidence/core_facts.h"
#include "evidence/tool_text.h"
#include "report/text_layout.h"

namespace cudadiag::report {

struct Core {
  evidence::CoreFacts facts;
  std::string instruction{};                          // the disassembled failing instruction
  std::optional<diagnose::DumpAccess> access{};       // what this instruction did
  std::optional<evidence::DebuggerCheck> debugger{};  // nullopt if cuda-gdb was not run
};

Page core_page(const Core& core);

// Writes one object. Its members are those of `device` in the report, and a few more; all are present. null means
// "unknown"; if the dump contains no failure, all members are null. The member `inline` has the whole chain of lines,
// innermost first, and is empty if nothing was inlined.
std::string write_core_json(const Core& core);

}  // namespace cudadiag::report
