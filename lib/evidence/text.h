// Describes the facts from a core dump as readable text.
#pragma once

#include <string>
#include <vector>

#include "evidence/testimony.h"

namespace cudadiag::evidence {

// Returns lines of text. Names from the dump are not escaped. `instruction` is the disassembled failing instruction, or
// empty. `access` describes what the instruction did, one line per fact.
std::vector<std::string> describe(const Testimony& testimony, const std::string& instruction = {},
                                  const std::vector<std::string>& access = {});

}  // namespace cudadiag::evidence
