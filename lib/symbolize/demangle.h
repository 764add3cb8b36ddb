// C++ names as people write them.
#pragma once

#include <string_view>

#include "evidence/demangle.h"

namespace cudadiag::symbolize {

using evidence::demangle;

// The name without what optimisers hang on it: `_Z4fillPii` for `_Z4fillPii.cold`, `step` for `step.part.0`.
std::string_view without_clone_suffix(std::string_view symbol);

}  // namespace cudadiag::symbolize
