#include "run/failure_sinks.h"

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
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/file_descriptor.h"
#include "base/write_all.h"
#include "report/json.h"
#include "report/text.h"
#include "terminal/terminal.h"

namespace cudadiag::command {
namespace {

namespace fs = std::filesystem;

// Kubernetes truncates termination messages to this many bytes.
constexpr std::size_t kTerminationLog = 4096;

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

// Runs in a forked child. Starts the command, kills it at its time limit, and removes the report. Calls only
// async-signal-safe functions.
[[noreturn]] void run_command(const char* command, const char* report) {
  ::setpgid(0, 0);
  const pid_t shell = ::fork();
  if (shell == 0) {
    ::setpgid(0, 0);
    ::execl("/bin/sh", "sh", "-c", command, static_cast<char*>(nullptr));
    ::_exit(127);
  }
  const timespec pause = {0, 50'000'000};
  int status = 0;
  for (unsigned waited = 0; shell > 0 && ::waitpid(shell, &status, WNOHANG) == 0; ++waited) {
    if (waited == kOnFailureSeconds * 20) ::kill(-shell, SIGKILL);
    ::nanosleep(&pause, nullptr);
  }
  ::unlink(report);
  ::_exit(0);
}

void start_command(const std::string& command, const diagnose::Diagnosis& report) {
  const std::string file = store_report(report);
  if (file.empty()) return say("--on-failure: cannot save the report for the command, so the command was not run");
  ::setenv("CUDADIAG_REPORT", file.c_str(), 1);
  const pid_t child = ::fork();
  if (child == 0) run_command(command.c_str(), file.c_str());
  ::unsetenv("CUDADIAG_REPORT");
  if (child < 0) {
    ::unlink(file.c_str());
    say(fmt::format("--on-failure: the command could not be started: {}", std::strerror(errno)));
  }
}

void write_termination_log(const std::string& path, const diagnose::Diagnosis& report) {
  std::string text = report::write_text(report, {});
  text.resize(std::min(text.size(), kTerminationLog));
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::app);
  file << text;
  if (!file.flush()) say(fmt::format("--termination-log: cannot write {}: {}", path, std::strerror(errno)));
}

}  // namespace

void FailureSinks::tell(const diagnose::Diagnosis& report) {
  if (told_ || report.findings.empty()) return;
  told_ = true;
  if (!options_.termination_log.empty()) write_termination_log(options_.termination_log, report);
  if (!options_.command.empty()) start_command(options_.command, report);
}

void FailureSinks::write_torchrun_error(const diagnose::Diagnosis& report) {
  const char* path = std::getenv("TORCHELASTIC_ERROR_FILE");
  if (path == nullptr || *path == '\0' || report.findings.empty()) return;
  struct stat there {};
  if (::stat(path, &there) == 0 && there.st_size > 0) return;
  report::TextOptions brief;
  brief.verbosity = report::Verbosity::quiet;
  const nlohmann::json document = {
      {"message",
       {{"message", report::write_text(report, brief)},
        {"extraInfo",
         {{"py_callstack", report::write_text(report, {})}, {"timestamp", std::to_string(std::time(nullptr))}}}}}};
  std::ofstream(path, std::ios::binary) << document.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace)
                                        << '\n';
}

}  // namespace cudadiag::command
