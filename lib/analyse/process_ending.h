// How a process ended.
#pragma once

#include <csignal>
#include <cstdint>
#include <optional>
#include <string>

#include "analyse/grade.h"
#include "session/session.h"

namespace cudadiag::analyse {

// How a process ended: its exit status or signal, if known.
struct Ending {
  bool known = false;
  bool bad = false;        // a status other than 0, or a signal
  bool of_process = true;  // false: only the started command's end is known
  int signal = 0;          // 0: none
  int status = 0;          // if no signal ended it
  std::string text;        // "status 1", "signal 9"
  // The command ended with status 0. A bad end is then the end of a child, and its parent took it for an answer.
  bool command_succeeded = false;

  // Returns whether the process was killed by a signal that usually comes from outside, such as SIGKILL.
  bool killed() const;
  // Returns whether a signal from the terminal or a job manager asked the process to end.
  bool asked_for() const { return signal == SIGINT || signal == SIGTERM || signal == SIGHUP; }
};

Ending ending(const session::ProcessEnd& end);
// Returns whether a rerun for the GPU core dump of a hang ended on its own, so that the hang did not recur.
inline bool ended_without_hang(const session::Pass& pass) {
  return !pass.cut_short && pass.dump.empty() && pass.end.code;
}
// Returns how the process itself ended. If only the status that it passed to exit() is known, returns this status,
// although the process may have crashed afterwards. The end may be unknown, for example for a killed process that is
// not a child of the launcher.
Ending own_ending(const session::Process& process);
// Returns own_ending(), if known. Otherwise, returns how the command ended, unless the process outlived the command.
Ending ending_of(const session::Session& session, const session::Process& process);
// Returns whether the driver may have crashed when it began a GPU core dump of the process. Measured in
// lib/record/hooks/README.md.
bool may_have_crashed_at_dump(const session::Session& session, const session::Process& process);

}  // namespace cudadiag::analyse
