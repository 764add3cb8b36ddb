// A stack of usual size for the main thread, whatever the limit on stacks is.
//
// libdw reads debugging information with more than 160 kB of stack, and `ulimit -s 64` leaves less. Another thread
// would not help: the target dies with the thread that started it, and signal handlers would run on the small stack. So
// the main thread itself changes stacks. The limit stays what it is: the target inherits it.
#pragma once

namespace cudadiag::command {

// Returns what `work(argc, argv)` returns. If the limit is smaller than usual, `work` and the threads that it starts
// get 8 MB each; without memory for that, they get what the limit leaves.
int on_ample_stack(int (*work)(int, char**), int argc, char** argv);

}  // namespace cudadiag::command
