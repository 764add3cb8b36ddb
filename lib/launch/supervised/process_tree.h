// Processes by their parents, as /proc has them, and signals that reach only these.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace cudadiag::launch {

struct ProcessState {
  pid_t parent = 0;         // 0: gone, or the kernel's own
  bool ended = false;       // not reaped yet
  std::uint64_t start = 0;  // in ticks since the machine's start: unique together with the number
};
ProcessState state_of(pid_t process);

// 0: gone.
pid_t parent_of(pid_t process);

// All that /proc shows.
std::vector<pid_t> all_processes();

// Whether `process`, or the process of that thread, descends from `ancestor` or is it.
bool descends_from(pid_t process, pid_t ancestor);

// Except the processes in `spared` and their descendants.
std::vector<pid_t> descendants_of(pid_t ancestor, const std::vector<pid_t>& spared = {});

// Whether it was started with this variable, "NAME=value".
bool is_marked(pid_t process, const std::string& mark);

// Pins the process so that its pid cannot be reused (from Linux 5.3 on), then sends the signal if `belongs` returns true.
// Returns false if the process is gone, does not belong, or cannot be reached.
bool signal_process(pid_t process, int signal, const std::function<bool(pid_t)>& belongs);

}  // namespace cudadiag::launch
