// Propagates origins along all paths of a program until nothing changes. Internal to lib/sass.
#pragma once

#include "sass/code/flow.h"
#include "sass/origins/instructions.h"
#include "sass/origins/origins.h"

namespace cudadiag::sass {

// Returns false if the walk takes too long.
bool walk(const Program& program, Instructions& instructions, OriginSets& sets);

}  // namespace cudadiag::sass
