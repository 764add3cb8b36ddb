// The recorder's own work when the program calls exit(), and its protection of several threads that call it together
// from crashing in libc.
//
// libc keeps its exit handlers in blocks of 32. Before glibc 2.41 several threads may call exit() at once: each takes
// the next handler, and the one that takes the last of a block frees it while others are inside that block's handlers.
// These crash as they return. The first block is never freed, and few programs fill it; CUPTI registers 38 handlers.
// Therefore the handler here is the last one that any thread takes from libc's list: it runs the others without
// freeing.
#pragma once

namespace cudadiag::record {

// Calls `first` with the status that the first thread gives to exit(), before the handlers registered so far. To be
// called once, after CUPTI is loaded.
void run_at_exit(void (*first)(int status));

}  // namespace cudadiag::record
