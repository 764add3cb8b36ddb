// A testimony for people.
#pragma once

#include <string>
#include <vector>

#include "evidence/testimony.h"

namespace cudadiag::evidence {

// Line by line, with whatever characters the dump's names have. `instruction`: the failing one, disassembled; empty if
// that could not be done. `access`: what it did, a line each.
std::vector<std::string> describe(const Testimony& testimony, const std::string& instruction = {},
                                  const std::vector<std::string>& access = {});

}  // namespace cudadiag::evidence
