// Starts the target of a supervisor from a separate thread, which is confined permanently while this process's other
// threads are not. The target reaches its memory for the recording through that thread, because a confined process
// cannot read another process's memory.
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
  int listener = -1;        // the descriptor at which system calls wait for an answer; -1 if none do
  int error = 0;            // why there is no process
  std::string failed = "";  // what failed; empty for exec
};

// May be called once in the life of a process, which has one more thread afterwards.
ConfinedTarget start_confined(ConfinedStart start);

}  // namespace cudadiag::launch
