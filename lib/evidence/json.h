// A testimony as JSON: `device` of the report contract and what only a core dump knows.
#pragma once

#include <string>

#include "evidence/debugger_text.h"
#include "evidence/testimony.h"

namespace cudadiag::evidence {

// One object. Every member is there; null is "not known", and all are null where the dump holds no failure.
// `instruction` as describe() takes it.
// `inline` is the whole chain from the innermost line on, empty where nothing was inlined.
// `debugger`: null where it was not asked.
std::string write_json(const Testimony& testimony, const std::string& instruction = {},
                       const DebuggerWitness* debugger = nullptr);

}  // namespace cudadiag::evidence
