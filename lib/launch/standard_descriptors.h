// Protects descriptors 0, 1 and 2 if this program was started without them.
#pragma once

namespace cudadiag::launch {

// Occupies the closed descriptors among 0, 1 and 2. Without this, another file could get such a number and be read or
// written by mistake. Reading and writing these descriptors still fails. Child processes still find them closed.
void occupy_standard_descriptors();

// Returns true if the descriptor was closed when this program started.
bool was_closed(int descriptor);

}  // namespace cudadiag::launch
