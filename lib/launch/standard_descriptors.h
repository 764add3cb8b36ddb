// Descriptors 0, 1 and 2 where this program was started without them.
#pragma once

namespace cudadiag::launch {

// Takes those that are closed, before anything else can be opened in their places and be read or written for them:
// reading and writing them still fails, and programs that are started from here still find them closed.
void occupy_standard_descriptors();

// Whether it was closed when this program started.
bool was_closed(int descriptor);

}  // namespace cudadiag::launch
