// The target as a child of this process: in the same process group, on the same terminal, with the same signals.
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
  int exit_status;  // 125: our own failure, 126: found but not executable, 127: not found
  base::Error failure;
};

struct ReceivedSignal {
  int number;
  pid_t sender;  // 0: not known
};

// Whether somebody has asked this program or its whole group to end, in the life of the latest SignalRelay: INT, QUIT,
// TERM or HUP, from anywhere.
bool asked_to_end();

// Takes over the signals that a launcher hands on, for the life of this object; one at a time. Signals that this
// process was started with as ignored stay ignored, for the target too; blocked ones stay blocked for the target alone.
class SignalRelay {
 public:
  SignalRelay();
  ~SignalRelay();
  SignalRelay(const SignalRelay&) = delete;
  SignalRelay& operator=(const SignalRelay&) = delete;

  // Until something happened (a signal, the end of a child, wake()) or the time is over.
  void wait(int milliseconds);
  // From any thread.
  void wake();
  // Signals that a process sent to this one, or to its whole group, which looks the same; oldest first.
  std::vector<ReceivedSignal> take_signals();
  bool interrupted() const { return asked_to_end(); }
};

// Targets start with what this process does with the signal now, whatever it does from then on.
void keep_for_targets(int signal);
// Likewise with the signals that this thread blocks.
void keep_blocked_for_targets();
// This process ignores the signal from now on; targets start with what it was started with.
void ignore_signal_here(int signal);

// How a rerun differs from the first run; by default not at all.
struct SpawnOptions {
  // In a process group of its own, without host core dumps, and ended if this process is killed; its own children may
  // survive that, until somebody ends them.
  bool apart = false;
  int input = -1;                // its standard input; -1: ours
  int output = -1;               // its standard output and error; -1: ours
  std::string directory;         // the folder in which it starts and its path is resolved; empty: this process's
  bool outlives = false;         // apart, but not killed with this process
  std::vector<int> inherited{};  // descriptors of ours that it has too, under the same numbers
};

// As waitpid() returns it.
session::ProcessEnd end_of(int status);

// A process alone, which the caller reaps and ends. `environment` as execve takes it; its signal dispositions are those
// that this process was started with.
std::variant<pid_t, SpawnFailure> start_process(const std::vector<std::string>& command,
                                                const std::vector<std::string>& environment,
                                                const SpawnOptions& options = {});
// `error` of errno; `ours`: what failed before there was anything to be executed, empty if nothing did.
SpawnFailure spawn_failure(const std::string& name, int error, const std::string& ours = "");

class Target {
 public:
  static std::variant<Target, SpawnFailure> spawn(const std::vector<std::string>& command,
                                                  const std::vector<std::string>& environment,
                                                  const SpawnOptions& options = {});

  pid_t pid() const { return pid_; }
  void forward(int signal) const;
  // Whether the process is the target or comes from it, and is in our process group, as far as that can still be seen.
  bool has_started(pid_t process) const;
  // The target and what it has started, as far as that can still be seen: orphans count only with its variables, as
  // those of bystanders come to this process too.
  std::vector<pid_t> processes() const;
  // Sends it to the target, its group, and processes(). False: there was no such process.
  bool signal_all(int signal) const;

  // Reaps what has ended: the target and orphans that came to us. True once the target has ended.
  bool reap();
  const session::ProcessEnd& end() const { return end_; }
  const std::map<std::uint32_t, session::ProcessEnd>& ends() const { return ends_; }

 private:
  Target(pid_t pid, std::vector<pid_t> bystanders, std::string mark)
      : pid_(pid), bystanders_(std::move(bystanders)), mark_(std::move(mark)) {}
  pid_t pid_;
  std::vector<pid_t> bystanders_;
  std::string mark_;  // the variable that no other program's processes have; empty: there is none
  bool ended_ = false;
  session::ProcessEnd end_;
  std::map<std::uint32_t, session::ProcessEnd> ends_;
};

// Ends this process as the target ended: its code, or death by the same signal without a core of ours.
[[noreturn]] void exit_like(const session::ProcessEnd& end);

}  // namespace cudadiag::launch
