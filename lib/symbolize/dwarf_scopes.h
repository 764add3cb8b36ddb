// Parts that the readers of DWARF's entries share. Internal to the room.
#pragma once

namespace cudadiag::symbolize {

inline constexpr int kDeepestScope = 64;  // deeper nesting than compilers produce

// Whether entries of this tag have no code of their own, but can hold functions that do.
bool is_container(int tag);

}  // namespace cudadiag::symbolize
