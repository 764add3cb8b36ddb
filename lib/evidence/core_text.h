// Writes the facts from a core dump as text and as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "evidence/core_facts.h"
#include "evidence/debugger_text.h"

namespace cudadiag::evidence {

// Returns lines of text. Names from the dump are not escaped. `instruction` is the disassembled failing instruction, or
// empty. `access` describes what the instruction did, one line per fact.
std::vector<std::string> describe(const CoreFacts& facts, const std::string& instruction = {},
                                  const std::vector<std::string>& access = {});

// Facts about the failing access, from the dump and the device code in it.
struct AccessSummary {
  std::string kind, space;                 // "load", "global"
  std::uint32_t bytes = 0;                 // 0 if unknown
  std::optional<std::uint64_t> address;    // the address that the first thread used
  std::optional<std::uint32_t> parameter;  // number (from 1) of the parameter that the address comes from
  std::uint32_t parameter_byte = 0;        // offset of the pointer's word in that parameter
  std::optional<std::uint64_t> value;      // value of the pointer's word
};

// Writes one object. Its members are those of `device` in the report, and a few more; all are present. null means
// "unknown"; if the dump contains no failure, all members are null. `instruction` has the same meaning as for
// describe(). The member `inline` has the whole chain of lines, innermost first, and is empty if nothing was inlined.
// `debugger` is null if cuda-gdb was not run. `access` is null if the access is unknown.
std::string write_json(const CoreFacts& facts, const std::string& instruction = {},
                       const DebuggerCheck* debugger = nullptr, const AccessSummary* access = nullptr);

}  // namespace cudadiag::evidence
