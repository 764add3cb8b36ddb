// Reads the tree of processes, and sends signals that cannot hit a process with a reused pid.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

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

}  // namespace cudadiag::launch
