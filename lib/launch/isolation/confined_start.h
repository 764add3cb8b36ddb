// Starts the target of a supervisor: from a thread that is confined for good, while the others of this process are not.
// The target's memory for the recording is reached through that thread, because a confined process cannot read another
// one's memory.
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
  std::vector<std::string> environment;  // as execve takes it
  std::optional<Isolation> isolation;
  sigset_t blocked{};  // by the target
  int arena = -1;      // its descriptor here
};

struct ConfinedTarget {
  pid_t process = -1;
  int listener = -1;        // where system calls wait for an answer; -1: none do
  int error = 0;            // why there is no process
  std::string failed = "";  // what failed; empty: exec
};

// Once in the life of a process, which from then on has one thread more.
ConfinedTarget start_confined(ConfinedStart start);

}  // namespace cudadiag::launch
