// How a process ended, as far as the launcher saw it.
#pragma once

#include <csignal>
#include <string>

#include "session/session.h"

namespace cudadiag::analyse {

struct Ending {
  bool known = false;
  bool bad = false;        // a status other than 0, or a signal
  bool of_process = true;  // false: only the started command's end is known
  int signal = 0;          // 0: none
  int status = 0;          // if no signal ended it
  std::string text;        // "status 1", "signal 9"

  // Returns whether something outside the process killed it, rather than its own fault.
  bool killed() const;
  // Returns whether a signal from the terminal or a job manager asked the process to end.
  bool asked_for() const { return signal == SIGINT || signal == SIGTERM || signal == SIGHUP; }
};

Ending ending(const session::ProcessEnd& end);
// Returns how the process itself ended. If only the status that it passed to exit() is known, returns that, although
// the process may have crashed afterwards. Neither is known for a killed process whose parent is not the launcher, for
// example.
Ending own_ending(const session::Process& process);
// Returns own_ending(). If that is unknown, returns how the command ended, unless the process outlived the command.
Ending ending_of(const session::Session& session, const session::Process& process);

}  // namespace cudadiag::analyse
