#pragma once

namespace cudadiag::replay {

// The source of a program that makes a saved launch; its tables replace the line `kTablesPlace`.
extern const char* const kStandaloneProgram;
inline constexpr const char* kTablesPlace = "// @tables@\n";

}  // namespace cudadiag::replay
