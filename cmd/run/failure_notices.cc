// Reports a failure to a user's command, to a container's termination log, and to torchrun.
#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "launch/process_tree.h"
#include "launch/signals.h"
#include "launch/standard_descriptors.h"
#include "report/writers.h"
#include "run/watched_run.h"
#include "terminal.h"

namespace cudadiag::command {
namespace {

namespace fs = std::filesystem;

// Kubernetes truncates termination messages to this many bytes.
constexpr std::size_t kTerminationLog = 4096;

// The time limit for the user's command, in seconds.
constexpr unsigned kOnFailureSeconds = 60;

// Exit statuses, as in a shell.
constexpr int kNotStarted = 127, kBySignal = 128;

report::TextOptions text_for_files(report::Verbosity verbosity = report::Verbosity::normal) {
  constexpr int kNoTerminal = -1;
  return text_options(verbosity, kNoTerminal);
}

// Writes the report to a new file that only this user can read. Returns its path, or "" on failure.
std::string store_report(const diagnose::Diagnosis& report) {
  std::error_code error;
  const fs::path folder = fs::temp_directory_path(error);
  std::string path = (error ? fs::path("/tmp") : folder) / "cudadiag-report-XXXXXX";
  const base::FileDescriptor file(::mkostemp(path.data(), O_CLOEXEC));
  if (file.get() < 0) return "";
  if (base::write_all(file.get(), report::write_json(report))) return path;
  ::unlink(path.c_str());
  return "";
}

// cudadiag ignores these signals for its own writes. Programs such as `yes | head` rely on them.
void restore_signals() {
  for (const int signal : {SIGPIPE, SIGXFSZ}) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Runs in a forked child. Starts the command, kills it at its time limit, removes the report, and exits with the status
// that a shell would give: 128 + N if signal N killed the command. Calls only async-signal-safe functions.
[[noreturn]] void run_command(const char* command, const char* report) {
  ::setpgid(0, 0);
  // This process would otherwise keep files open, such as the session's lock.
  launch::close_all_but({});
  const pid_t shell = ::fork();
  if (shell == 0) {
    ::setpgid(0, 0);
    restore_signals();
    ::execl("/bin/sh", "sh", "-c", command, static_cast<char*>(nullptr));
    ::_exit(kNotStarted);
  }
  constexpr unsigned kPerSecond = 20, kLimit = kOnFailureSeconds * kPerSecond;
  const timespec pause = {0, 1'000'000'000 / kPerSecond};
  int status = 0;
  for (unsigned waited = 0; shell > 0 && ::waitpid(shell, &status, WNOHANG) == 0; ++waited) {
    if (waited == kLimit) ::kill(-shell, SIGKILL);
    if (waited == kLimit + kPerSecond) break;  // it is stuck in the kernel
    ::nanosleep(&pause, nullptr);
  }
  ::unlink(report);
  if (shell < 0) ::_exit(kNotStarted);
  ::_exit(WIFSIGNALED(status) ? kBySignal + WTERMSIG(status) : WEXITSTATUS(status));
}

// Returns the process that waits for the command, or -1 on failure.
pid_t start_command(const std::string& command, const diagnose::Diagnosis& report) {
  const std::string file = store_report(report);
  if (file.empty()) return say("--on-failure: cannot save the report for the command, so the command was not run"), -1;
  ::setenv("CUDADIAG_REPORT", file.c_str(), 1);
  const pid_t child = ::fork();
  if (child == 0) run_command(command.c_str(), file.c_str());
  if (child < 0) {
    say(fmt::format("--on-failure: the command could not be started: {}", std::strerror(errno)));
    ::unlink(file.c_str());
  }
  ::unsetenv("CUDADIAG_REPORT");
  launch::forget_end(child);
  return child;
}

int wait_for(pid_t child) {
  if (const session::ProcessEnd* end = launch::end_of_child(child)) return end->code.value_or(0);
  const launch::EndableWork endable;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return 0;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

// `name` says who wants the file.
void append(const char* name, const std::string& path, const std::string& text) {
  const auto failure = base::write_output_file(path, text, base::Earlier::kept);
  if (failure) {
    say(fmt::format("{}: the report was not written to {}: {}; {}", name, path, failure->why,
                    base::is_for_lack_of_room(failure->error) ? "free some space" : "choose a regular file"));
  }
}

void write_termination_log(const std::string& path, const diagnose::Diagnosis& report) {
  std::string text = report::write_text(report, text_for_files());
  if (text.size() > kTerminationLog) text.resize(text.rfind('\n', kTerminationLog - 1) + 1);
  append("--termination-log", path, text);
}

}  // namespace

void FailureNotices::inform(const diagnose::Diagnosis& report) {
  if (informed_ || report.findings.empty()) return;
  informed_ = true;
  if (!options_.termination_log.empty()) write_termination_log(options_.termination_log, report);
  if (!options_.command.empty()) command_ = start_command(options_.command, report);
}

FailureNotices::~FailureNotices() {
  if (command_ <= 0) return;
  const int status = wait_for(command_);
  if (status == kBySignal + SIGKILL) {
    say(fmt::format("--on-failure: the command was killed, as cudadiag does after {} seconds", kOnFailureSeconds));
  } else if (status != 0) {
    say(fmt::format("--on-failure: the command exited with status {}", status));
  }
}

void FailureNotices::write_torchrun_error(const diagnose::Diagnosis& report) {
  const char* path = std::getenv("TORCHELASTIC_ERROR_FILE");
  if (path == nullptr || *path == '\0' || report.findings.empty()) return;
  struct stat there {};
  if (::stat(path, &there) == 0 && S_ISREG(there.st_mode) && there.st_size > 0) return;
  const nlohmann::json document = {{"message",
                                    {{"message", report::write_text(report, text_for_files(report::Verbosity::quiet))},
                                     {"extraInfo",
                                      {{"py_callstack", report::write_text(report, text_for_files())},
                                       {"timestamp", std::to_string(std::time(nullptr))}}}}}};
  append("TORCHELASTIC_ERROR_FILE", path,
         document.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + '\n');
}

}  // namespace cudadiag::command
