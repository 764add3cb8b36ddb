// Handles descriptors 0, 1 and 2 if this program was started without them.
#pragma once

namespace cudadiag::launch {

// Occupies the closed descriptors, so that no other file gets their numbers and is read or written by mistake. Reading
// and writing them still fails, and child processes still find them closed.
void occupy_standard_descriptors();

// Whether the descriptor was closed when this program started.
bool was_closed(int descriptor);

}  // namespace cudadiag::launch
