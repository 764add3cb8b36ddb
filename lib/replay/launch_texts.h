// The files of a saved launch for its reader: what it is and how to run it, and a program of its own.
#pragma once

#include <string>

#include "replay/saved_launch.h"

namespace cudadiag::replay {

std::string readme_of(const SavedLaunch& launch);
// C++ that makes the launch by the driver API alone, from the image and the memory files beside it.
std::string source_of(const SavedLaunch& launch);

}  // namespace cudadiag::replay
