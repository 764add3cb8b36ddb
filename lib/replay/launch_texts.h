// The texts in the folder of a saved launch: a README, and the source of a standalone program.
#pragma once

#include <string>

#include "replay/saved_launch.h"

namespace cudadiag::replay {

std::string readme_of(const SavedLaunch& launch);
// C++ code that repeats the launch with only the driver API, from the image and memory files in the same folder.
std::string source_of(const SavedLaunch& launch);

}  // namespace cudadiag::replay
