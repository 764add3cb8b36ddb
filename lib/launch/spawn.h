// Finds the program that a command names, and runs it as a child process. The target has the same process group,
// terminal and signal settings as this process.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "session/session.h"

namespace cudadiag::launch {

struct SpawnFailure {
  int exit_status;  // 125: cudadiag failed, 126: found but not executable, 127: not found
  base::Error failure;
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

// Call this in a child between fork and exec. Prevents core dumps and, with a limit of 1 instead of 0, also the reports
// of a program that the kernel pipes them to (core(5)). The child cannot raise the limit again, so that it
// never replaces a core file of the first run. Async-signal-safe.
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

  // Reaps this process's children (launch/process_tree.h). Returns true once the target has exited.
  bool reap();
  // Returns true after reap() has. May be called on any thread. If it returns true, so may end().
  bool has_ended() const { return ended_->load(); }
  const session::ProcessEnd& end() const { return end_; }

 private:
  Target(pid_t pid, std::vector<pid_t> bystanders, std::string mark)
      : pid_(pid), bystanders_(std::move(bystanders)), mark_(std::move(mark)) {}
  pid_t pid_;
  std::vector<pid_t> bystanders_;
  std::string mark_;  // the variable that only this target's processes have; empty if there is none
  session::ProcessEnd end_;
  std::unique_ptr<std::atomic<bool>> ended_ = std::make_unique<std::atomic<bool>>(false);
};

// Ends this process as the target ended: with the same exit status, or by the same signal but without a core dump.
[[noreturn]] void exit_like(const session::ProcessEnd& end);

struct CommandPath {
  std::string path;  // empty if no executable file was found
  int error = 0;     // ENOENT or EACCES if `path` is empty
};

// Resolves a relative path from `folder`; from the working folder if it is empty.
CommandPath find_command(const std::string& name, const std::string& folder = "");

// A file from which cudadiag runs code, and that the user did not choose, must come from the user, root, or the owner
// of the program that the user runs. Returns true if no untrusted user can write to the file or to any folder above it.
// Each of these must be owned by this process's effective user, root or `also`. A folder that others can write to is
// accepted only if it is sticky, like /tmp: nobody can replace another user's entries in it. Symbolic links are
// resolved first. Returns false if any part of the path cannot be inspected.
bool only_trusted_can_write(const std::filesystem::path& file, uid_t also);

}  // namespace cudadiag::launch
