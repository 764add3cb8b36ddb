// Finds where the Python threads of a stalled process are, from its memory. A rank that issues no GPU work makes no
// call that the recorder sees.
//
// The process is not stopped. The launcher can open /proc/PID/mem of its descendants unless the kernel forbids it. A
// frame that changes during a read appears as an object of another type, or the stack differs when it is read again.
// The stack is then dropped.
#pragma once

#include <vector>

#include "session/session.h"

namespace cudadiag::supervise {

// Returns the stacks of live threads that had issued GPU work. Empty if there are none or the memory is unreadable.
std::vector<session::HostStack> host_stacks(const session::Process& process);

}  // namespace cudadiag::supervise
