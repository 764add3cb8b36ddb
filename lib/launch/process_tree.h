// The descendants of this process: their tree, signals that cannot hit a process with a reused pid, and how children
// ended.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "session/session.h"

namespace cudadiag::launch {

// Returns 0 if the process is gone.
pid_t parent_of(pid_t process);

// Returns true if the process is `ancestor` or one of its descendants. `process` may also be a thread id.
bool descends_from(pid_t process, pid_t ancestor);

// Returns all descendants, except the processes in `spared` and their descendants.
std::vector<pid_t> descendants_of(pid_t ancestor, const std::vector<pid_t>& spared = {});
// Like descendants_of(), but asks the kernel for each thread's children. This is cheaper on a machine with many
// processes, and may miss processes that are created or end meanwhile.
std::vector<pid_t> listed_descendants_of(pid_t ancestor, const std::vector<pid_t>& spared = {});

// Returns true if the process was started with this environment variable, "NAME=value".
bool is_marked(pid_t process, const std::string& mark);

// Opens a pidfd so that the pid cannot be reused (from Linux 5.3 on). Then sends the signal if `belongs` returns true.
// Returns false if the process is gone or cannot be signalled, or if `belongs` returns false.
bool signal_process(pid_t process, int signal, const std::function<bool(pid_t)>& belongs);

// ---- how this process's children ended, and the orphans that it adopted
//
// Several objects wait for children at the same time, for example for the target and for a tool, and waitpid() may
// return any child to any of them. Every status is therefore kept here. Call these functions from one thread.

// Converts a status from waitpid().
session::ProcessEnd end_of(int status);

// Reaps every child that has exited. Returns false if this process has no child left.
bool reap_children();

// Waits until the child exits, and returns true if its status is 0. Its end is not kept. Returns false for the result
// of a fork() that failed.
bool succeeds(pid_t child);

// Returns the ends of all reaped children by their pids.
const std::map<std::uint32_t, session::ProcessEnd>& ends_of_children();

// Returns the end of the child, or null if it has not been reaped.
const session::ProcessEnd* end_of_child(pid_t child);

// Call this for a new child, because an earlier child may have had the same pid, and for a child that is not part of
// the program, such as a tool that has ended.
void forget_end(pid_t child);

}  // namespace cudadiag::launch
