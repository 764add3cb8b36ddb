// The texts that the folder of a saved launch contains: a README, and the source of a standalone program.
#pragma once

#include <string>

#include "replay/saved_launch.h"

namespace cudadiag::replay {

std::string readme_of(const SavedLaunch& launch);
// Returns C++ code that repeats the launch with only the driver API. The code reads the image and memory files in its
// folder.
std::string source_of(const SavedLaunch& launch);

// The source of a program that repeats a saved launch. The tables of that launch replace the line `kTablesPlace`.
extern const char* const kStandaloneProgram;
inline constexpr const char* kTablesPlace = "// @tables@\n";

}  // namespace cudadiag::replay
