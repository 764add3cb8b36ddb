// The text of --version.
#pragma once

#include <string>

namespace cudadiag::command {

// The commit that this was built from, or "unknown". commit.cmake defines it.
extern const char* const kCommit;

// Returns several lines. The first one is "cudadiag 1.2.3".
std::string version_text();

}  // namespace cudadiag::command
