// How a process ended, as far as the launcher saw it.
#pragma once

#include <csignal>
#include <string>

#include "session/session.h"

namespace cudadiag::analyse {

struct Ending {
  bool known = false;
  bool bad = false;        // a status other than 0, or a signal
  bool of_process = true;  // false: only the end of the started command is known
  int signal = 0;          // 0: none
  int status = 0;          // if no signal ended it
  std::string text;        // "status 1", "signal 9"

  // Returns whether the process was ended from the outside, rather than by its own fault.
  bool killed() const;
  // Returns whether a signal from the terminal or a job manager asked the process to end.
  bool asked_for() const { return signal == SIGINT || signal == SIGTERM || signal == SIGHUP; }
};

Ending ending(const session::ProcessEnd& end);
// Returns the process's own end, or the status that it passed to exit(), after which it may still have crashed. For
// example, neither is known for a killed process whose parent is not the launcher.
Ending own_ending(const session::Process& process);
// Returns own_ending(). If that is unknown, returns the end of the command, unless the process outlived it.
Ending ending_of(const session::Session& session, const session::Process& process);

}  // namespace cudadiag::analyse
