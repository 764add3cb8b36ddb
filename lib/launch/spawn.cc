#include "launch/spawn.h"

#include <boost/version.hpp>
#if BOOST_VERSION >= 108600
#define BOOST_PROCESS_VERSION 1
#include <boost/process/v1/child.hpp>
#include <boost/process/v1/extend.hpp>
namespace bp = boost::process::v1;
#else
#include <boost/process/child.hpp>
#include <boost/process/extend.hpp>
namespace bp = boost::process;
#endif
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/processes.h"
#include "base/text.h"
#include "launch/process_tree.h"
#include "wire/environment.h"

namespace cudadiag::launch {
namespace {

// The inherited actions of the signals that this process handles itself. Targets start with these actions.
std::map<int, struct sigaction> inherited;
std::optional<sigset_t> inherited_blocked;

// Blocks all signals while it exists. Otherwise, between fork and exec, the child could handle a signal that is meant
// for the target.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  const sigset_t& before() const { return before_; }

 private:
  sigset_t before_;
};

// Sets argv[0] to the command as the user typed it. Boost would set it to the program's path.
struct ExactCommand : bp::extend::handler {
  const char* path;
  char* const* arguments;
  char** environment;
  SpawnOptions options;
  sigset_t blocked;
  bool* fork_failed;

  template <typename Executor>
  void on_setup(Executor& executor) const {
    executor.exe = path;
    executor.cmd_line = arguments;
    executor.env = environment;
  }

  template <typename Executor>
  void on_fork_error(Executor&, const std::error_code&) const {
    *fork_failed = true;
  }

  // Runs in the child between fork and exec. Must be async-signal-safe.
  template <typename Executor>
  void on_exec_setup(Executor& executor) const {
    if (options.apart) {
      ::setpgid(0, 0);
      leave_no_core();
      if (!options.outlives) ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    }
    for (const int descriptor : options.inherited) ::fcntl(descriptor, F_SETFD, 0);
    restore_signals_for_target(blocked);
    if (options.input >= 0) ::dup2(options.input, STDIN_FILENO);
    if (options.output >= 0) {
      ::dup2(options.output, STDOUT_FILENO);
      ::dup2(options.output, STDERR_FILENO);
    }
    if (!options.directory.empty() && ::chdir(options.directory.c_str()) != 0) {
      executor.set_error(std::error_code(errno, std::generic_category()), "chdir failed");
    }
  }
};

struct StartFailure {
  std::error_code error;
  const char* ours = "";  // the step that failed before exec; empty if exec failed
};

StartFailure start(const std::string& path, const std::vector<std::string>& arguments,
                   const std::vector<std::string>& environment, const SpawnOptions& options, pid_t& pid) {
  auto argument_pointers = base::c_strings(arguments);
  auto environment_pointers = base::c_strings(environment);
  ExactCommand command;
  command.path = path.c_str();
  command.arguments = argument_pointers.data();
  command.environment = environment_pointers.data();
  command.options = options;
  bool fork_failed = false;
  command.fork_failed = &fork_failed;
  std::error_code error;
  const SignalsBlocked none_reaches_the_child;
  command.blocked = inherited_blocked.value_or(none_reaches_the_child.before());
  errno = 0;
  bp::child child(command, error);
  if (error) return {error, fork_failed ? "cannot create a process (fork)" : ""};
  pid = child.id();
  // If Boost cannot create a pipe, it returns the pid -1 without an error. kill(-1) would signal all processes.
  if (pid <= 0) {
    return {{errno == 0 ? EAGAIN : errno, std::generic_category()}, "cannot create a pipe to it (pipe, fcntl)"};
  }
  // Boost must not reap this child. Target::reap() collects its exit status, and that of orphans.
  child.detach();
  return {};
}

// Returns the descendants that this process already has. The first run may have left them behind, or a shell may have
// started them and then replaced itself with this process (exec).
std::vector<pid_t> descendants_until_now() {
  siginfo_t child{};
  // Usually, this process has no children, so /proc need not be searched.
  if (::waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD) return {};
  return descendants_of(::getpid());
}

// Returns a hint about what the user probably meant by a name that is not a command.
std::string hint_for_missing(const std::string& name) {
  const std::size_t equals = name.find('='), space = name.find(' '), slash = name.rfind('/');
  // A path may contain spaces, too: a missing file in a folder that exists.
  const bool is_path = slash != std::string::npos && ::access(name.substr(0, slash + 1).c_str(), F_OK) == 0 &&
                       ::access(name.substr(0, space).c_str(), F_OK) != 0;
  const bool is_line = space != std::string::npos && !is_path;
  if (equals != std::string::npos && equals > 0 && name.find('/') > equals && space > equals) {
    if (is_line) return "remove the quotes around the whole command, and use env: env " + name;
    return "put the variable before cudadiag, or use env: env " + name + " COMMAND";
  }
  if (is_line && name.find_first_of("|&;<>$") != std::string::npos) {
    return "only a shell can run such a line: put sh -c before it";
  }
  if (is_line) return "it contains a space: remove the quotes around the whole command";
  if (::access(name.c_str(), F_OK) == 0) {
    if (name.find('/') != std::string::npos) return "the file exists, but not the interpreter of its #! line";
    const bool is_python = name.ends_with(".py");
    return "PATH does not contain this folder; to run the file: " + (is_python ? "python3 " + name : "./" + name);
  }
  if (name == "python" && !find_command("python3").path.empty()) return "it is called python3 here";
  if (name.find('/') != std::string::npos) return "check the path of the program";
  return "check its name, its interpreter (#! line) and PATH; to run an alias or a command of your shell: bash -ic " +
         name;
}

// Returns the variable that tells the target where to record. Its value is unique to each target, so it identifies the
// target's processes.
std::string mark_in(const std::vector<std::string>& environment) {
  for (const char* name : {wire::environment::kSession, wire::environment::kArena}) {
    const std::string prefix = std::string(name) + "=";
    const auto found =
        std::ranges::find_if(environment, [&](const std::string& variable) { return variable.starts_with(prefix); });
    if (found != environment.end()) return *found;
  }
  return "";
}

}  // namespace

SpawnFailure spawn_failure(const std::string& name, int error, const std::string& ours) {
  if (!ours.empty()) {
    const bool refused = error == EPERM || error == EACCES || error == ENOSYS;
    return {125,
            {"cannot start " + name + ": " + ours + ": " + std::strerror(error),
             refused           ? "the seccomp filter of a container or sandbox may forbid it"
             : error == EMFILE ? "raise the limit: ulimit -n"
                               : "check the limits: ulimit -a"}};
  }
  if (error == ENOENT) {
    return {127, {(name.empty() ? "''" : name) + ": no such command", hint_for_missing(name)}};
  }
  struct stat status {};
  if (error == EACCES && ::stat(name.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
    return {126, {name + " is a folder", "give the path of a program, or an interpreter and a script"}};
  }
  if (error == EACCES || error == ENOEXEC || error == EISDIR || error == ELIBBAD || error == EPERM) {
    return {126,
            {name + " cannot be executed: " + std::strerror(error),
             "check its permissions, or run it through its interpreter"}};
  }
  return {125, {"cannot start " + name + ": " + std::strerror(error), ""}};
}

void keep_for_targets(int signal) {
  if (!inherited.contains(signal)) ::sigaction(signal, nullptr, &inherited[signal]);
}

void keep_blocked_for_targets() { ::pthread_sigmask(SIG_SETMASK, nullptr, &inherited_blocked.emplace()); }

void ignore_signal_here(int signal) {
  keep_for_targets(signal);
  ::signal(signal, SIG_IGN);
}

void use_default_action_here(int signal) {
  keep_for_targets(signal);
  ::signal(signal, SIG_DFL);
}

void leave_no_core() {
  const rlimit no_core{1, 1};
  ::setrlimit(RLIMIT_CORE, &no_core);
}

void restore_signals_for_target(const sigset_t& blocked) {
  for (const auto& [signal, action] : inherited) ::sigaction(signal, &action, nullptr);
  ::sigprocmask(SIG_SETMASK, &blocked, nullptr);
}

std::variant<pid_t, SpawnFailure> start_process(const std::vector<std::string>& command,
                                                const std::vector<std::string>& environment,
                                                const SpawnOptions& options) {
  const CommandPath found = find_command(command.front(), options.directory);
  if (found.path.empty()) return spawn_failure(command.front(), found.error);
  pid_t pid = 0;
  StartFailure failure = start(found.path, command, environment, options, pid);
  if (failure.error.value() == ENOEXEC) {
    // A script without a #! line runs in a shell, as with execvp().
    std::vector<std::string> shell = {"sh", found.path};
    shell.insert(shell.end(), command.begin() + 1, command.end());
    failure = start("/bin/sh", shell, environment, options, pid);
  }
  if (failure.error) return spawn_failure(command.front(), failure.error.value(), failure.ours);
  forget_end(pid);
  return pid;
}

std::variant<Target, SpawnFailure> Target::spawn(const std::vector<std::string>& command,
                                                 const std::vector<std::string>& environment,
                                                 const SpawnOptions& options) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  std::vector<pid_t> bystanders = descendants_until_now();
  auto started = start_process(command, environment, options);
  if (auto* failure = std::get_if<SpawnFailure>(&started)) return std::move(*failure);
  return Target(std::get<pid_t>(started), std::move(bystanders), mark_in(environment));
}

void Target::forward(int signal) const {
  if (!has_ended()) ::kill(pid_, signal);
}

bool Target::has_started(pid_t process) const {
  if (::getpgid(process) != ::getpgrp()) return false;
  for (const pid_t own = ::getpid(); process > 1 && process != own;) {
    if (process == pid_) return true;
    if (std::ranges::find(bystanders_, process) != bystanders_.end()) return false;
    process = parent_of(process);
    if (process == own) return true;
  }
  return false;
}

std::vector<pid_t> Target::processes() const {
  const pid_t own = ::getpid();
  std::vector<pid_t> spared = bystanders_;
  std::vector<pid_t> alive = descendants_of(own, bystanders_);
  for (const pid_t process : alive) {
    const bool is_orphan = process != pid_ && parent_of(process) == own;
    if (is_orphan && !mark_.empty() && !is_marked(process, mark_)) spared.push_back(process);
  }
  if (spared.size() > bystanders_.size()) alive = descendants_of(own, spared);
  std::erase_if(alive, [](pid_t process) { return base::state_of(process).ended; });
  return alive;
}

std::vector<pid_t> Target::seen_processes() const { return listed_descendants_of(::getpid(), bystanders_); }

bool Target::signal_all(int signal) const {
  if (!has_ended()) ::kill(-pid_, signal);
  bool any = false;
  for (const pid_t descendant : processes()) any |= ::kill(descendant, signal) == 0;
  return any;
}

bool Target::reap() {
  const bool any_left = reap_children();
  // This process may later adopt and reap an orphan with the same pid.
  if (has_ended()) return true;
  if (const session::ProcessEnd* end = end_of_child(pid_)) {
    end_ = *end;
    *ended_ = true;
  }
  if (!any_left) *ended_ = true;  // other code in this process has reaped the target
  return has_ended();
}

void exit_like(const session::ProcessEnd& end) {
  if (!end.signal) std::_Exit(end.code.value_or(125));
  leave_no_core();
  ::signal(*end.signal, SIG_DFL);
  sigset_t only;
  ::sigemptyset(&only);
  ::sigaddset(&only, *end.signal);
  ::sigprocmask(SIG_UNBLOCK, &only, nullptr);
  ::raise(*end.signal);
  // The init process of a container cannot kill itself with a signal. It exits with the status that a shell would
  // report for the signal.
  std::_Exit(128 + *end.signal);
}

namespace {

int executable_error(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return errno == EACCES ? EACCES : ENOENT;
  if (!S_ISREG(status.st_mode) || ::access(path.c_str(), X_OK) != 0) return EACCES;
  return 0;
}

}  // namespace

CommandPath find_command(const std::string& name, const std::string& folder) {
  if (name.empty()) return {"", ENOENT};
  if (name.find('/') != std::string::npos) {
    const std::string path = (std::filesystem::path(folder) / name).string();
    const int error = executable_error(path);
    return {error == 0 ? path : "", error};
  }
  const char* variable = std::getenv("PATH");
  std::string_view rest = variable == nullptr ? "/usr/local/bin:/usr/bin:/bin" : variable;
  int error = ENOENT;
  while (true) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string searched(rest.substr(0, end));
    const std::string path = (searched.empty() ? "." : searched) + "/" + name;
    const int found = executable_error(path);
    if (found == 0) return {path, 0};
    if (found == EACCES) error = EACCES;
    if (end == rest.size()) return {"", error};
    rest.remove_prefix(end + 1);
  }
}

namespace {

namespace fs = std::filesystem;

bool is_trusted(const struct stat& status, uid_t also) {
  const bool owned = status.st_uid == 0 || status.st_uid == ::geteuid() || status.st_uid == also;
  const bool is_sticky_folder = S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0;
  return owned && ((status.st_mode & S_IWOTH) == 0 || is_sticky_folder);
}

}  // namespace

bool only_trusted_can_write(const fs::path& file, uid_t also) {
  std::error_code error;
  const fs::path real = fs::canonical(file, error);
  if (error) return false;
  for (fs::path part = real;; part = part.parent_path()) {
    struct stat status {};
    if (::stat(part.c_str(), &status) != 0 || !is_trusted(status, also)) return false;
    if (part == part.root_path()) return true;
  }
}

}  // namespace cudadiag::launch
