// Protects descriptors 0, 1 and 2 if this program was started without them.
#pragma once

namespace cudadiag::launch {

// Occupies each closed descriptor among 0, 1 and 2. Otherwise, the next file to be opened would get one of these
// numbers, and could be read or written by mistake. Reading or writing these descriptors still fails. Child processes
// still find them closed.
void occupy_standard_descriptors();

// Returns true if the descriptor was closed when this program started.
bool was_closed(int descriptor);

}  // namespace cudadiag::launch
