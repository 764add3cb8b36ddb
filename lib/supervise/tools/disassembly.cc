#include "supervise/tools/disassembly.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <utility>
#include <variant>

#include "base/file_descriptor.h"
#include "base/text.h"
#include "evidence/testimony.h"
#include "session/session_folders.h"
#include "supervise/tools/toolkit.h"

namespace cudadiag::supervise {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{10};  // for one kernel
constexpr int kToDie = 1000;                   // milliseconds
constexpr std::size_t kLongestInstruction = 200;
constexpr std::size_t kMostOutput = 64u << 20;

constexpr std::size_t kMostKept = 16, kMostTextKept = 1u << 20;  // disassembled code, and bytes of each

// Returns "SM90" for "sm_90", and "" for any other form. The check is strict, because the text comes from the dump and
// becomes an argument of a command.
std::string tool_s_name(const std::string& architecture) {
  if (!architecture.starts_with("sm_") || architecture.size() > 8) return "";
  const std::string rest = architecture.substr(3);
  const bool plain =
      std::all_of(rest.begin(), rest.end(), [](char c) { return (c >= '0' && c <= '9') || c == 'a' || c == 'f'; });
  return rest.empty() || !plain ? "" : "SM" + rest;
}

std::string mark_of(std::uint64_t offset) { return fmt::format("/*{:04x}*/", offset); }

// Finds the line for the offset in the tool's output: "/*0070*/   LDG.E R5, desc[UR4][R4.64] ;".
std::string instruction_at(const std::string& output, std::uint64_t offset) {
  const std::string mark = mark_of(offset);
  const std::size_t at = output.find(mark);
  if (at == std::string::npos) return "";
  const std::size_t begin = output.find_first_not_of(" \t", at + mark.size());
  const std::size_t end = output.find_first_of(";\n", begin);
  if (begin == std::string::npos || end == std::string::npos || output[end] != ';') return "";
  const std::string text = output.substr(begin, std::min(end - begin, kLongestInstruction));
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

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

// Returns the tool's output; empty if it failed, as far as known: another thread may reap the tool first.
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
  std::string output = read_to_end(in.get(), Clock::now() + kPatience);
  // Kills the tool by its descriptor. Its pid may be in use again, because another thread of the launcher reaps all
  // children.
  if (output.empty() && process.valid()) ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
  pollfd ended{process.get(), POLLIN, 0};
  siginfo_t info{};
  const bool reaped =
      process.valid() && ::poll(&ended, 1, kToDie) > 0 &&
      ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(process.get()), &info, WEXITED | WNOHANG) == 0 &&
      info.si_pid == pid;
  return reaped && (info.si_code != CLD_EXITED || info.si_status != 0) ? "" : output;
}

}  // namespace

std::string disassembled(const std::string& tool, const std::string& architecture, std::string_view instructions) {
  static std::mutex mutex;
  static std::map<std::string, std::string, std::less<>> known;  // by instructions
  if (tool.empty() || architecture.empty()) return "";
  {
    const std::lock_guard lock(mutex);
    if (const auto found = known.find(instructions); found != known.end()) return found->second;
  }
  // A file without a name, so that other users cannot open it and nothing stays on disk.
  const base::FileDescriptor input(::memfd_create("code", MFD_CLOEXEC));
  if (!input.valid() || !base::write_all(input.get(), instructions)) return "";
  std::string text = output_of({tool, "-b", architecture, fmt::format("/proc/{}/fd/{}", ::getpid(), input.get())});
  // Part of the text would be taken for the whole code.
  constexpr std::size_t kInstruction = 16;  // bytes, from sm_70 on
  if (instructions.size() < kInstruction || text.find(mark_of(instructions.size() - kInstruction)) == text.npos)
    return "";
  const std::lock_guard lock(mutex);
  if (known.size() == kMostKept) known.clear();
  if (text.size() <= kMostTextKept) known.emplace(instructions, text);
  return text;
}

std::string disassembled(const evidence::FunctionCode& code, const std::string& tool) {
  return disassembled(tool, tool_s_name(code.architecture), code.instructions);
}

std::string failing_instruction(const evidence::FunctionCode& code, const std::string& text) {
  return instruction_at(text, code.offset);
}

std::optional<base::Error> store_failing_code(const std::string& dump, session::SessionWriter& writer,
                                              const std::vector<std::string>& command) {
  if (dump.empty()) return std::nullopt;
  const auto read = evidence::read_core(writer.pass_folder() / dump);
  const auto* core = std::get_if<evidence::Testimony>(&read);
  if (core == nullptr || !core->failure || !core->failure->code || !core->failure->state) return std::nullopt;
  const std::string text = disassembled(*core->failure->code, find_disassembler(command));
  if (text.empty()) return std::nullopt;
  return writer.store_text(writer.pass_folder() / session::kCodeFile, text);
}

}  // namespace cudadiag::supervise
