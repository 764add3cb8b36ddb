// A testimony for people.
#pragma once

#include <string>
#include <vector>

#include "gpucore/testimony.h"

namespace cudadiag::gpucore {

// Line by line, with whatever characters the dump's names have.
std::vector<std::string> describe(const Testimony& testimony);

}  // namespace cudadiag::gpucore
