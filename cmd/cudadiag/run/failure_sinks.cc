#include "run/failure_sinks.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/file_descriptor.h"
#include "base/write_all.h"
#include "launch/children.h"
#include "launch/endable_work.h"
#include "report/json.h"
#include "report/text.h"
#include "terminal/terminal.h"

namespace cudadiag::command {
namespace {

namespace fs = std::filesystem;

// Kubernetes truncates termination messages to this many bytes.
constexpr std::size_t kTerminationLog = 4096;

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

// Closes everything but standard input, output and error. The symbolizer's files are not all close-on-exec. The process
// that waits for the command would keep other files open too, such as the session's lock.
void close_other_files() {
  constexpr unsigned kFirst = STDERR_FILENO + 1;
  if (::syscall(SYS_close_range, kFirst, ~0u, 0) == 0) return;  // Linux 5.9
  constexpr int kMost = 4096;
  for (int number = kFirst; number < kMost; ++number) ::close(number);
}

// Runs in a forked child. Starts the command, kills it at its time limit, and removes the report. Calls only
// async-signal-safe functions.
[[noreturn]] void run_command(const char* command, const char* report) {
  ::setpgid(0, 0);
  close_other_files();
  const pid_t shell = ::fork();
  if (shell == 0) {
    ::setpgid(0, 0);
    restore_signals();
    ::execl("/bin/sh", "sh", "-c", command, static_cast<char*>(nullptr));
    ::_exit(127);
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
  ::_exit(0);
}

// Returns the process that waits for the command, or -1 on failure.
pid_t start_command(const std::string& command, const diagnose::Diagnosis& report) {
  const std::string file = store_report(report);
  if (file.empty()) return say("--on-failure: cannot save the report for the command, so the command was not run"), -1;
  ::setenv("CUDADIAG_REPORT", file.c_str(), 1);
  const pid_t child = ::fork();
  if (child == 0) run_command(command.c_str(), file.c_str());
  ::unsetenv("CUDADIAG_REPORT");
  launch::forget_end(child);
  if (child < 0) {
    ::unlink(file.c_str());
    say(fmt::format("--on-failure: the command could not be started: {}", std::strerror(errno)));
  }
  return child;
}

bool is_pipe(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
}

// Appends the text to a file, without waiting: opening a pipe can block forever, and so can writing to it. Does not
// write to other kinds of files. Prints a message on failure; `name` says who wants the file.
void append(const char* name, const std::string& path, const std::string& text) {
  const auto refuse = [&](const std::string& why) {
    say(fmt::format("{}: the report was not written to {}: {}; choose a regular file", name, path, why));
  };
  const base::FileDescriptor file(
      ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0666));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0) {
    const int error = errno;
    return refuse(error == ENXIO && is_pipe(path) ? "no process reads this pipe" : std::strerror(error));
  }
  // A pipe takes PIPE_BUF bytes either at once or not at all. Standard error is often a pipe.
  const bool pipe = S_ISFIFO(status.st_mode);
  if (!S_ISREG(status.st_mode) && !S_ISCHR(status.st_mode) && !pipe) return refuse("it is not a regular file");
  if (pipe && text.size() > PIPE_BUF) return refuse("it is a pipe, and the report is too long for it");
  if (!base::write_all(file.get(), text)) refuse(std::strerror(errno));
}

void write_termination_log(const std::string& path, const diagnose::Diagnosis& report) {
  std::string text = report::write_text(report, text_for_files());
  text.resize(std::min(text.size(), kTerminationLog));
  append("--termination-log", path, text);
}

}  // namespace

void FailureSinks::tell(const diagnose::Diagnosis& report) {
  if (told_ || report.findings.empty()) return;
  told_ = true;
  if (!options_.termination_log.empty()) write_termination_log(options_.termination_log, report);
  if (!options_.command.empty()) command_ = start_command(options_.command, report);
}

FailureSinks::~FailureSinks() {
  if (command_ <= 0 || launch::end_of_child(command_) != nullptr) return;
  const launch::EndableWork endable;
  while (::waitpid(command_, nullptr, 0) < 0 && errno == EINTR) continue;
}

void FailureSinks::write_torchrun_error(const diagnose::Diagnosis& report) {
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
