#pragma once

namespace cudadiag::replay {

// The source of a program that repeats a saved launch. The line `kTablesPlace` is to be replaced by the launch's
// tables.
extern const char* const kStandaloneProgram;
inline constexpr const char* kTablesPlace = "// @tables@\n";

}  // namespace cudadiag::replay
