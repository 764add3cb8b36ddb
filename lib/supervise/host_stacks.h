// Where the Python threads of a process that stands still are, read from its memory: a rank that gives the GPU no work
// makes no call that the recorder sees.
//
// The process is not stopped. /proc/PID/mem opens for the launcher's own descendants unless the kernel forbids it. What
// was read while a frame changed shows as an object of another type, or as a stack that is another one when it is read
// again; it is dropped.
#pragma once

#include <vector>

#include "session/session.h"

namespace cudadiag::supervise {

// Those of living threads that had given the GPU work. Empty: there are none, or the memory cannot be read.
std::vector<session::HostStack> host_stacks(const session::Process& process);

}  // namespace cudadiag::supervise
