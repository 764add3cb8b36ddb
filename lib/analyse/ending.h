// How a process ended, as far as the launcher saw it.
#pragma once

#include <csignal>
#include <string>

#include "session/session.h"

namespace cudadiag::analyse {

struct Ending {
  bool known = false;
  bool bad = false;        // a status other than 0, or a signal
  bool of_process = true;  // false: only the end of the command that was started is known
  int signal = 0;          // 0: none
  int status = 0;          // of one that no signal ended
  std::string text;        // "status 1", "signal 9"

  // Ended from outside rather than by a fault of its own.
  bool killed() const;
  // Whether such a signal asked it to end: from the terminal, or from a job manager.
  bool asked_for() const { return signal == SIGINT || signal == SIGTERM || signal == SIGHUP; }
};

Ending ending(const session::ProcessEnd& end);
// The process's own end, or with what status it called exit(), after which it may still have crashed. Neither is known
// for a process that was killed and whose parent is not the launcher, for example.
Ending own_ending(const session::Process& process);
// The same; if that is not known, the end of the command, if the process did not outlive it.
Ending ending_of(const session::Session& session, const session::Process& process);

}  // namespace cudadiag::analyse
