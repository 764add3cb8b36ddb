// Starts a rerun's target from a separate thread, which is confined if isolation is requested.
// The thread stays confined and never exits. The target opens the arena through this thread's /proc entry, because a
// confined process cannot access the memory of another process.
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
  std::vector<std::string> environment;  // in the form that execve() takes
  std::optional<Isolation> isolation;
  sigset_t blocked{};  // the target's initial signal mask
  int arena = -1;      // the arena's descriptor in this process
};

struct ConfinedTarget {
  pid_t process = -1;
  int listener = -1;        // the descriptor on which to receive and answer system calls; -1 for none
  int error = 0;            // the errno of the failure; 0 if the target was started
  std::string failed = "";  // the step that failed; empty for exec
};

// Must be called at most once in a process. The thread that it creates never exits.
ConfinedTarget start_confined(ConfinedStart start);

}  // namespace cudadiag::launch
