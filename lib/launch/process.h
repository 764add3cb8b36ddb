// Runs the target as a child process. The target has the same process group, terminal and signal settings as this
// process.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstdint>
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

// Returns the last INT, QUIT, TERM or HUP that this process received since the last SignalRelay was created. Returns 0
// if there was none.
int ending_signal();
inline bool asked_to_end() { return ending_signal() != 0; }

// Handles the signals that a launcher relays, for the lifetime of this object. Only one may exist at a time. A signal
// that was ignored when this process started stays ignored, here and in the target. A signal that was blocked at that
// time stays blocked in the target.
class SignalRelay {
 public:
  SignalRelay();
  ~SignalRelay();
  SignalRelay(const SignalRelay&) = delete;
  SignalRelay& operator=(const SignalRelay&) = delete;

  // Waits for a signal, the exit of a child, or wake(), for at most `milliseconds`.
  void wait(int milliseconds);
  // Makes wait() return. May be called from any thread.
  void wake();
  // Returns the signals that other processes sent to this process or to its group, each signal once, oldest first. The
  // kernel does not say which of the two was the destination.
  std::vector<ReceivedSignal> take_signals();
  bool interrupted() const { return asked_to_end(); }
};

// Makes targets start with the signal's current action, even if this process changes that action later.
void keep_for_targets(int signal);
// Makes targets start with this thread's current signal mask.
void keep_blocked_for_targets();
// Makes this process ignore the signal. Targets start with the action that this process inherited.
void ignore_signal_here(int signal);

// Gives the signal its default action in this process. Targets start with the action that this process inherited.
void use_default_action_here(int signal);
// Call this in the child between fork and exec. Gives signals the actions that targets start with, then sets the mask.
// Async-signal-safe.
void restore_signals_for_target(const sigset_t& blocked);

// Call this in a child between fork and exec. Prevents core dumps and, with a limit of 1 instead of 0, also the reports of a
// program that the kernel pipes them to (core(5)). Async-signal-safe.
void leave_no_core();

// How a rerun's start differs from the first run's. By default, there are no differences.
struct SpawnOptions {
  // Starts the target in its own process group, without host core dumps. Kills it if this process is killed. Children
  // of the target may then keep running until another process kills them.
  bool apart = false;
  int input = -1;                // its standard input; -1: inherited from this process
  int output = -1;               // its standard output and error; -1: inherited from this process
  std::string directory;         // its working folder, from which a relative command is also resolved; empty: inherited
  bool outlives = false;         // with `apart`: do not kill it if this process is killed
  std::vector<int> inherited{};  // descriptors that it inherits under the same numbers
};

// Starts a single process, which the caller must reap. `environment` has the form that execve() takes. The process
// starts with the signal actions that this process inherited.
std::variant<pid_t, SpawnFailure> start_process(const std::vector<std::string>& command,
                                                const std::vector<std::string>& environment,
                                                const SpawnOptions& options = {});
// `error` is an errno. `ours` names the step that failed before exec. It is empty if exec itself failed.
SpawnFailure spawn_failure(const std::string& name, int error, const std::string& ours = "");

class Target {
 public:
  static std::variant<Target, SpawnFailure> spawn(const std::vector<std::string>& command,
                                                  const std::vector<std::string>& environment,
                                                  const SpawnOptions& options = {});

  pid_t pid() const { return pid_; }
  void forward(int signal) const;
  // Returns true if /proc shows that the process is the target or its descendant, and is in this process's group.
  bool has_started(pid_t process) const;
  // Returns the target and its descendants, if /proc shows them. Includes an orphan only if its environment marks it as
  // part of the target, because this process also adopts orphans of other programs.
  std::vector<pid_t> processes() const;
  // Returns the target and its descendants, with orphans whose environment was cleared. If this process had descendants
  // before, their orphans may be among them. Cheaper than processes(), and less reliable.
  std::vector<pid_t> seen_processes() const;
  // Sends the signal to the target, its group, and processes(). Returns false if none of them exists.
  bool signal_all(int signal) const;

  // Reaps this process's children (launch/children.h). Returns true once the target has exited.
  bool reap();
  const session::ProcessEnd& end() const { return end_; }

 private:
  Target(pid_t pid, std::vector<pid_t> bystanders, std::string mark)
      : pid_(pid), bystanders_(std::move(bystanders)), mark_(std::move(mark)) {}
  pid_t pid_;
  std::vector<pid_t> bystanders_;
  std::string mark_;  // the variable that only this target's processes have; empty if there is none
  bool ended_ = false;
  session::ProcessEnd end_;
};

// Ends this process as the target ended: with the same exit status, or by the same signal but without a core dump.
[[noreturn]] void exit_like(const session::ProcessEnd& end);

}  // namespace cudadiag::launch
