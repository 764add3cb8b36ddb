// A testimony as JSON: `device` of the report contract and what only a core dump knows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "evidence/testimony.h"
#include "evidence/tools/debugger_text.h"

namespace cudadiag::evidence {

// The access that failed, as far as the dump and its code tell.
struct AccessSummary {
  std::string kind, space;                 // "load", "global"
  std::uint32_t bytes = 0;                 // 0: not known
  std::optional<std::uint64_t> address;    // of the first thread
  std::optional<std::uint32_t> parameter;  // from 1, that the address is made of
  std::uint32_t parameter_byte = 0;        // of the word in it
  std::optional<std::uint64_t> value;      // of that word
};

// One object. Every member is there; null is "not known", and all are null if the dump holds no failure. `instruction`
// as describe() takes it. `inline` is the whole chain from the innermost line on, empty if nothing was inlined.
// `debugger`: null if it was not asked. `access`: null if it is not known.
std::string write_json(const Testimony& testimony, const std::string& instruction = {},
                       const DebuggerWitness* debugger = nullptr, const AccessSummary* access = nullptr);

}  // namespace cudadiag::evidence
