#pragma once

namespace cudadiag::replay {

// The source of a program that makes a saved launch, with `kTablesPlace` where its tables go.
extern const char* const kStandaloneProgram;
inline constexpr const char* kTablesPlace = "// @tables@\n";

}  // namespace cudadiag::replay
