// The source of a program that repeats a saved launch. The tables of that launch replace the line `kTablesPlace`.
#pragma once

namespace cudadiag::replay {

extern const char* const kStandaloneProgram;
inline constexpr const char* kTablesPlace = "// @tables@\n";

}  // namespace cudadiag::replay
