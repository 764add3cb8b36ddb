// Goes through a program until no path brings anything new. Internal to the room.
#pragma once

#include "sass/code/flow.h"
#include "sass/origins/instructions.h"
#include "sass/origins/origins.h"

namespace cudadiag::sass {

// False: it takes too long.
bool walk(const Program& program, Instructions& instructions, OriginSets& sets);

}  // namespace cudadiag::sass
