// Parts that the readers of DWARF entries share. Internal to lib/symbolize.
#pragma once

namespace cudadiag::symbolize {

inline constexpr int kDeepestScope = 64;  // deeper nesting than compilers produce

// Returns whether entries of this tag have no code themselves, but can contain functions with code.
bool is_container(int tag);

}  // namespace cudadiag::symbolize
