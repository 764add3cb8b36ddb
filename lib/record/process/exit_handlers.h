// Runs the recorder's code when the program calls exit(). Also prevents a crash in libc if several threads call exit()
// at the same time.
//
// libc keeps its exit handlers in blocks of 32. Before glibc 2.41, several threads may run handlers at the same time,
// and each takes the next handler from the list. The thread that takes the last handler of a block frees the block
// while other threads are still inside handlers of this block. These threads crash when they return. The first block is
// never freed, and few programs fill it, but CUPTI registers 38 handlers. For this reason, our handler is the only one
// that threads take from libc's list. It runs all other handlers without freeing their blocks.
#pragma once

namespace cudadiag::record {

// Makes exit() call `first` before all handlers that are already registered. `status` is the argument of the first call
// of exit(). Must be called once, after CUPTI is loaded.
void run_at_exit(void (*first)(int status));

}  // namespace cudadiag::record
