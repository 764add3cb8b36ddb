// The text of --version.
#pragma once

#include <string>

namespace cudadiag::command {

// The commit that this program was built from, or "unknown". Defined by the file that commit.cmake writes.
extern const char* const kCommit;

// Returns the text of --version, whose first line is like "cudadiag 1.2.3".
std::string version_text();

}  // namespace cudadiag::command
