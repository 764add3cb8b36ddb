// Reads the memory of a stalled process to find out where its Python threads are. The recorder does not know, because
// it sees only calls that issue GPU work.
//
// The process keeps running while its memory is read. The launcher can open /proc/PID/mem of its descendants unless the
// kernel forbids it. A frame may change during a read. Its objects then have the wrong types, or a second read gives a
// different stack. In both cases, the stack is dropped.
#pragma once

#include <vector>

#include "session/session.h"

namespace cudadiag::supervise {

// Returns the stacks of live threads that had issued GPU work. Empty if there are none, or if the memory cannot be
// read.
std::vector<session::HostStack> host_stacks(const session::Process& process);

}  // namespace cudadiag::supervise
