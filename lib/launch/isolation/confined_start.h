// Starts the target of a supervisor from a separate thread. Only that thread is confined, and it stays confined. The
// target reaches its memory for the recording through that thread, because a confined process cannot read another
// process's memory.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "launch/isolation/isolation.h"

namespace cudadiag::launch {

struct ConfinedStart {
  std::string path;
  std::vector<std::string> arguments;    // argv
  std::vector<std::string> environment;  // in the form that execve takes
  std::optional<Isolation> isolation;
  sigset_t blocked{};  // the signals that the target blocks
  int arena = -1;      // the arena's descriptor in this process
};

struct ConfinedTarget {
  pid_t process = -1;
  int listener = -1;        // the descriptor at which system calls wait for an answer; -1 for none
  int error = 0;            // errno of the failure; 0 if the target was started
  std::string failed = "";  // what failed; empty for exec
};

// May be called only once in a process. The thread that it creates never ends.
ConfinedTarget start_confined(ConfinedStart start);

}  // namespace cudadiag::launch
