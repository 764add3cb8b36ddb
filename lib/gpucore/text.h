// A testimony for people.
#pragma once

#include <string>
#include <vector>

#include "gpucore/testimony.h"

namespace cudadiag::gpucore {

// Line by line, with whatever characters the dump's names have. `instruction`: the failing one, disassembled; empty
// where that could not be done.
std::vector<std::string> describe(const Testimony& testimony, const std::string& instruction = {});

}  // namespace cudadiag::gpucore
