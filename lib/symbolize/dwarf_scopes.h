// Definitions that the readers of DWARF entries share. Internal to lib/symbolize.
#pragma once

namespace cudadiag::symbolize {

inline constexpr int kDeepestScope = 64;  // compilers do not nest deeper

// Returns whether entries with this tag have no code of their own, but may contain functions with code.
bool is_container(int tag);

}  // namespace cudadiag::symbolize
