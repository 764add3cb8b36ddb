// Gives the main thread a stack of the usual size, whatever the limit on stacks is.
//
// libdw needs more than 160 kB of stack to read debugging information, and `ulimit -s 64` leaves less. Another thread
// would not help: the target dies with the thread that started it, and signal handlers would run on the small stack.
// The main thread itself therefore changes stacks. The limit does not change, because the target inherits it.
#pragma once

namespace cudadiag::command {

// Returns the result of `work(argc, argv)`. If the limit is smaller than usual, `work` and the threads that it starts
// get 8 MB each. If there is not enough memory for that, they get what the limit allows.
int on_ample_stack(int (*work)(int, char**), int argc, char** argv);

}  // namespace cudadiag::command
