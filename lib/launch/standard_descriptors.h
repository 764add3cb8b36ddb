// Protects descriptors 0, 1 and 2 if this program was started without them. Closes the others.
#pragma once

#include <span>

namespace cudadiag::launch {

// Occupies each closed descriptor among 0, 1 and 2. Otherwise, the next file to be opened would get one of these
// numbers, and could be read or written by mistake. Reading or writing these descriptors still fails. Child processes
// still find them closed.
void occupy_standard_descriptors();

// Closes every descriptor above 2 except those in `kept`. Async-signal-safe.
void close_all_but(std::span<const int> kept);

// Returns true if the descriptor was closed when this program started.
bool was_closed(int descriptor);

}  // namespace cudadiag::launch
