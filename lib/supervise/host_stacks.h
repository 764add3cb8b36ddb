// Reads the memory of a stalled process to find out where its Python threads are. The recorder cannot tell: it sees no
// call of a rank that issues no GPU work.
//
// The process is not stopped. The launcher can open /proc/PID/mem of its descendants unless the kernel forbids it. If a
// frame changes during a read, it appears as an object of a different type, or the stack differs when it is read again.
// The stack is then dropped.
#pragma once

#include <vector>

#include "session/session.h"

namespace cudadiag::supervise {

// Returns the stacks of live threads that had issued GPU work. Empty if there are none or the memory is unreadable.
std::vector<session::HostStack> host_stacks(const session::Process& process);

}  // namespace cudadiag::supervise
