// Runs the target as a child of this process: in the same process group, on the same terminal, with the same signals.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "session/session.h"

namespace cudadiag::launch {

struct SpawnFailure {
  int exit_status;  // 125: cudadiag failed, 126: found but not executable, 127: not found
  base::Error failure;
};

struct ReceivedSignal {
  int number;
  pid_t sender;  // 0 if unknown
};

// Returns the latest INT, QUIT, TERM or HUP that this process received, from any sender, since the latest SignalRelay
// was created. Returns 0 if there was none.
int ending_signal();
inline bool asked_to_end() { return ending_signal() != 0; }

// Takes over the signals that a launcher relays, during the lifetime of this object. Only one may exist at a time. A
// signal that was ignored when this process started stays ignored, here and in the target. A signal that was blocked
// when this process started stays blocked in the target.
class SignalRelay {
 public:
  SignalRelay();
  ~SignalRelay();
  SignalRelay(const SignalRelay&) = delete;
  SignalRelay& operator=(const SignalRelay&) = delete;

  // Waits for a signal, the end of a child or wake(), for at most `milliseconds`.
  void wait(int milliseconds);
  // Makes wait() return. May be called from any thread.
  void wake();
  // Returns each signal once, oldest first: those that other processes sent to this process or to its whole group. The
  // kernel does not distinguish the two.
  std::vector<ReceivedSignal> take_signals();
  bool interrupted() const { return asked_to_end(); }
};

// Makes targets start with the current action of the signal, even if this process changes it later.
void keep_for_targets(int signal);
// Makes targets start with the same blocked signals as this thread has now.
void keep_blocked_for_targets();
// Makes this process ignore the signal. Targets start with the action that this process was started with.
void ignore_signal_here(int signal);

// The differences between a rerun and the first run; by default there are none.
struct SpawnOptions {
  // Starts the target in a separate process group, without host core dumps, and ends it if this process is killed. The
  // target's own children may survive that, until another process ends them.
  bool apart = false;
  int input = -1;                // its standard input; -1 to inherit this process's
  int output = -1;               // its standard output and error; -1 to inherit this process's
  std::string directory;         // the folder in which it starts and its path is resolved; empty: this process's
  bool outlives = false;         // with `apart`: survives if this process is killed
  std::vector<int> inherited{};  // descriptors that it inherits from this process under the same numbers
};

// Converts the status that waitpid() returns.
session::ProcessEnd end_of(int status);

// Starts a single process. The caller must reap and end it. `environment` has the form that execve takes. The process
// starts with the signal dispositions that this process was started with.
std::variant<pid_t, SpawnFailure> start_process(const std::vector<std::string>& command,
                                                const std::vector<std::string>& environment,
                                                const SpawnOptions& options = {});
// `error` is an errno. `ours` says what failed before the command could be executed; it is empty otherwise.
SpawnFailure spawn_failure(const std::string& name, int error, const std::string& ours = "");

class Target {
 public:
  static std::variant<Target, SpawnFailure> spawn(const std::vector<std::string>& command,
                                                  const std::vector<std::string>& environment,
                                                  const SpawnOptions& options = {});

  pid_t pid() const { return pid_; }
  void forward(int signal) const;
  // Whether the process is the target or its descendant, and in this process group, as far as /proc shows it.
  bool has_started(pid_t process) const;
  // Returns the target and its descendants, as far as /proc shows them. An orphan counts only if it has the target's
  // variables, because this process also inherits orphans of other programs.
  std::vector<pid_t> processes() const;
  // Sends the signal to the target, its group, and processes(). Returns false if none of them exists.
  bool signal_all(int signal) const;

  // Reaps ended processes: the target, and orphans that this process inherited. Returns true once the target has ended.
  bool reap();
  const session::ProcessEnd& end() const { return end_; }
  const std::map<std::uint32_t, session::ProcessEnd>& ends() const { return ends_; }

 private:
  Target(pid_t pid, std::vector<pid_t> bystanders, std::string mark)
      : pid_(pid), bystanders_(std::move(bystanders)), mark_(std::move(mark)) {}
  pid_t pid_;
  std::vector<pid_t> bystanders_;
  std::string mark_;  // the variable that only processes of this target have; empty if there is none
  bool ended_ = false;
  session::ProcessEnd end_;
  std::map<std::uint32_t, session::ProcessEnd> ends_;
};

// Ends this process as the target ended: with the same status, or by the same signal without a core dump.
[[noreturn]] void exit_like(const session::ProcessEnd& end);

}  // namespace cudadiag::launch
