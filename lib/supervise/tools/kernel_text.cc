#include "supervise/tools/kernel_text.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/file_descriptor.h"
#include "base/text.h"

namespace cudadiag::supervise {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kKernelPatience{10};  // for one kernel
constexpr int kToDie = 1000;                         // milliseconds
constexpr std::size_t kMostOutput = 64u << 20;

std::string read_to_end(int pipe, Clock::time_point deadline) {
  std::string output;
  char buffer[65536];
  while (output.size() < kMostOutput) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd source{pipe, POLLIN, 0};
    if (left <= 0 || ::poll(&source, 1, static_cast<int>(left)) <= 0) return "";
    const ssize_t count = ::read(pipe, buffer, sizeof buffer);
    if (count < 0) return "";
    if (count == 0) return output;
    output.append(buffer, static_cast<std::size_t>(count));
  }
  return "";
}

// Returns the tool's output; empty if it failed. Ignores the exit status, because another thread may reap the tool.
std::string output_of(const std::vector<std::string>& command) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return "";
  const base::FileDescriptor in(ends[0]);
  base::FileDescriptor out(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out.get(), 1);
  ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  ::posix_spawnattr_init(&attributes);
  sigset_t none, standard;
  ::sigemptyset(&none);
  ::sigfillset(&standard);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &standard);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  const std::vector<char*> arguments = base::c_strings(command);
  pid_t pid = 0;
  const int failed = ::posix_spawn(&pid, arguments[0], &actions, &attributes, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  out = base::FileDescriptor();
  if (failed != 0) return "";
  const base::FileDescriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  std::string output = read_to_end(in.get(), Clock::now() + kKernelPatience);
  // Kills the tool by its descriptor. Its pid may be in use again, because another thread of the launcher reaps all
  // children.
  if (output.empty() && process.valid()) ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
  pollfd ended{process.get(), POLLIN, 0};
  siginfo_t info;
  if (process.valid() && ::poll(&ended, 1, kToDie) > 0) {
    ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(process.get()), &info, WEXITED | WNOHANG);
  }
  return output;
}

}  // namespace

std::string kernel_text(const std::string& tool, const KernelCode& code) {
  const base::FileDescriptor input(::memfd_create("code", MFD_CLOEXEC));
  if (!input.valid() || !base::write_all(input.get(), code.instructions.all())) return "";
  const std::string file = fmt::format("/proc/{}/fd/{}", ::getpid(), input.get());
  // Older versions can only print text.
  std::string lines = lines_of_json(output_of({tool, "--emit-json", "-b", code.architecture, file}));
  return lines.empty() ? output_of({tool, "-b", code.architecture, file}) : lines;
}

namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kInstructionSize = 16;  // sm_70 and later

// Returns "" if the member is missing, or is not a string.
std::string text_of(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

}  // namespace

std::string lines_of_json(std::string_view json) {
  const Json document = Json::parse(json, nullptr, false);
  if (!document.is_array() || document.size() != 2 || !document[1].is_array() || document[1].size() != 1) return "";
  const Json& function = document[1][0];
  if (!function.is_object()) return "";
  const auto instructions = function.find("sass-instructions");
  const auto start = function.find("start");
  if (instructions == function.end() || !instructions->is_array()) return "";
  if (start == function.end() || !start->is_number_unsigned()) return "";
  std::string lines;
  std::uint64_t address = start->get<std::uint64_t>();
  for (const Json& each : *instructions) {
    if (!each.is_object()) return "";
    const std::string predicate = text_of(each, "predicate");
    fmt::format_to(std::back_inserter(lines), "/*{:04x}*/ {}{}{} {} ;\n", address, predicate,
                   predicate.empty() ? "" : " ", text_of(each, "opcode"), text_of(each, "operands"));
    address += kInstructionSize;
  }
  return lines;
}

}  // namespace cudadiag::supervise
