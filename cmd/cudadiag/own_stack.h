// Gives the main thread a stack of the usual size, even if the limit on stacks is lower.
//
// libdw needs more than 160 kB of stack to read debugging information, and `ulimit -s 64` leaves less. Another thread
// would not do: the target dies with the thread that started it, and signal handlers would still run on the small
// stack. The main thread itself therefore switches stacks. The limit stays, because the target inherits it.
#pragma once

namespace cudadiag::command {

// Returns the result of `work(argc, argv)`. If the limit is lower than usual, `work` and the threads that it starts get
// 8 MB each or, if the memory limit is too low for that, what the limit allows.
int on_ample_stack(int (*work)(int, char**), int argc, char** argv);

}  // namespace cudadiag::command
