// Gives the main thread a stack of the usual size, even if the stack limit is lower.
//
// libdw needs more than 160 kB of stack to read debug information. `ulimit -s 64` leaves less. Moving the work to
// another thread would not help. The target is killed when the thread that started it exits, and signal handlers would
// still run on the small stack. The main thread therefore switches to a new stack. It leaves the limit unchanged,
// because the target inherits it.
#pragma once

namespace cudadiag::command {

// Returns the result of `work(argc, argv)`. If the stack limit is lower than usual, `work` and its threads get stacks
// of 8 MB, or less if memory is limited.
int on_ample_stack(int (*work)(int, char**), int argc, char** argv);

}  // namespace cudadiag::command
