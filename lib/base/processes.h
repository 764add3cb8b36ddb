// Reads from /proc which processes there are, and their states. Names this machine, and reads the environment of this
// process. Starts threads that a run can do without.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace cudadiag::base {

using Pid = std::int64_t;  // takes pid_t and the unsigned pids of records alike

std::vector<pid_t> all_processes();

struct ProcessState {
  pid_t parent = 0;         // 0 if the process is gone or belongs to the kernel
  bool ended = false;       // a zombie: exited but not reaped
  std::uint64_t start = 0;  // in clock ticks since boot; unique in combination with the pid
};
ProcessState state_of(Pid process);

// `stopped` means stopped by a signal or a debugger. `gone` includes zombies, and pids of another pid namespace.
enum class Life { runs, gone, stopped };
Life life_of(Pid process);

// Returns true for zombies, too.
bool has_ended(Pid process);

// Returns the name of the program, truncated by the kernel to 15 bytes; "" if the process is gone.
std::string process_name(Pid process);

// Finds this machine's host name. A process id from a different machine means nothing here.
std::string host_name();

// Returns this process's environment in the form that execve() takes.
std::vector<std::string> own_environment();

// Starts a thread that a run can do without. Returns a non-joinable thread if the limit allows no more threads.
template <typename Function>
std::thread optional_thread(Function function) {
  try {
    return std::thread(std::move(function));
  } catch (const std::system_error&) {
    return {};
  }
}

}  // namespace cudadiag::base
