// The recorder's work when the program calls exit(). It also keeps several threads that call exit() at once from
// crashing in libc.
//
// libc keeps its exit handlers in blocks of 32. Before glibc 2.41, several threads may call exit() at once. Each takes
// the next handler. The thread that takes the last one of a block frees the block while others are inside its
// handlers. These crash when they return. The first block is never freed, and few programs fill it; CUPTI registers 38
// handlers. This handler is therefore the last one that any thread takes from libc's list: it runs the others without
// freeing.
#pragma once

namespace cudadiag::record {

// Calls `first` with the status that the first thread passes to exit(), before the handlers registered so far. Call it
// once, after CUPTI is loaded.
void run_at_exit(void (*first)(int status));

}  // namespace cudadiag::record
