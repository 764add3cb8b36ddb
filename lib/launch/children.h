// How this process's children ended, and the orphans that it adopted. Several objects wait for children at the same
// time, for example for the target and for a tool, and waitpid() may return any child to any of them. Every status is
// therefore kept here. Call these functions from one thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>

#include "session/session.h"

namespace cudadiag::launch {

// Converts a status from waitpid().
session::ProcessEnd end_of(int status);

// Reaps every child that has exited. Returns false if this process has no child left.
bool reap_children();

// Waits until the child exits, and returns true if its status is 0. Its end is not kept. Returns false for the result of
// a fork() that failed.
bool succeeds(pid_t child);

// Returns the ends of all reaped children by their pids.
const std::map<std::uint32_t, session::ProcessEnd>& ends_of_children();

// Returns the end of the child, or null if it has not been reaped.
const session::ProcessEnd* end_of_child(pid_t child);

// Call this for a new child, because an earlier child may have had the same pid, and for a child that is not part of
// the program, such as a tool that has ended.
void forget_end(pid_t child);

}  // namespace cudadiag::launch
