#include "supervise/toolkit_programs.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdlib>
#include <utility>
#include <variant>

#include "base/files.h"
#include "evidence/core_facts.h"
#include "evidence/tool_text.h"
#include "launch/environment.h"
#include "launch/libraries.h"
#include "launch/process_tree.h"
#include "launch/spawn.h"

namespace cudadiag::supervise {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kTimeToDie{1};
constexpr off_t kLongestOutput = off_t{64} << 20;

// Creates a file that has no name, needs no disk space, and disappears when it is closed. It cannot grow beyond the
// limit.
base::FileDescriptor file_for_output() {
  base::FileDescriptor file(::memfd_create("output", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const bool bounded = file.valid() && ::ftruncate(file.get(), kLongestOutput) == 0 &&
                       ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) == 0;
  return bounded ? std::move(file) : base::FileDescriptor();
}

// Returns the output of the tool. The tool shares the offset of this open file, so the offset is the size of the
// output.
std::string written_to(int file) {
  const off_t size = ::lseek(file, 0, SEEK_CUR);
  return base::read_part(file, 0, static_cast<std::uint64_t>(std::clamp<off_t>(size, 0, kLongestOutput)));
}

// Returns why the tool was terminated; empty if it ended by itself.
std::string wait(launch::Target& tool, std::chrono::milliseconds patience, launch::SignalRelay& relay,
                 const std::function<void()>& tick) {
  std::string reason;
  auto deadline = Clock::now() + patience;
  while (!tool.reap()) {
    const bool late = Clock::now() >= deadline;
    if (late && !reason.empty()) break;  // the process cannot be killed
    if (reason.empty() && (late || relay.interrupted())) {
      reason = late ? "time limit" : "interrupted";
      tool.signal_all(SIGKILL);
      deadline = Clock::now() + kTimeToDie;
    }
    if (tick) tick();
    relay.wait(100);
    relay.take_signals();
  }
  // Kills the processes that the tool started, and their descendants.
  const auto limit = Clock::now() + kTimeToDie;
  while (tool.signal_all(SIGKILL) && Clock::now() < limit) {
    relay.wait(10);
    relay.take_signals();
    tool.reap();
  }
  return reason;
}

}  // namespace

std::string find_toolkit_program(const std::string& name) {
  if (std::string path = launch::find_command(name).path; !path.empty()) return path;
  const char* const roots[] = {std::getenv("CUDA_HOME"), std::getenv("CUDA_PATH"), "/usr/local/cuda"};
  for (const char* root : roots) {
    if (root == nullptr || *root == '\0') continue;
    const std::string path = std::string(root) + "/bin/" + name;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

std::string find_disassembler(const std::vector<std::string>& command) {
  if (std::string path = find_toolkit_program("nvdisasm"); !path.empty()) return path;
  // pipx and uv install cudadiag, with its `device` extra, apart from the program's Python.
  std::error_code error;
  const std::vector<std::string> own = {std::filesystem::read_symlink("/proc/self/exe", error).string()};
  // The extra installs a newer nvdisasm than Triton's.
  for (const char* place : {"nvidia/cu13/bin/nvdisasm", "triton/backends/nvidia/bin/nvdisasm"}) {
    for (const auto& program : {command, own}) {
      for (const std::filesystem::path& tool : launch::files_in_python_packages(program, place)) {
        if (::access(tool.c_str(), X_OK) == 0) return tool.string();
      }
    }
  }
  return "";
}

ToolRun run_tool(const std::vector<std::string>& command, std::chrono::milliseconds patience,
                 launch::SignalRelay& relay, const std::function<void()>& tick) {
  ToolRun run;
  const base::FileDescriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC)), output = file_for_output();
  if (!nothing.valid() || !output.valid()) {
    run.obstacle = "no file descriptor is left for its output";
    return run;
  }
  launch::SpawnOptions options;
  options.apart = true;
  options.input = nothing.get();
  options.output = output.get();
  const auto started = Clock::now();
  auto spawned = launch::Target::spawn(command, launch::environment_with({}), options);
  if (const auto* failure = std::get_if<launch::SpawnFailure>(&spawned)) {
    run.obstacle = failure->failure.what;
    return run;
  }
  auto& tool = std::get<launch::Target>(spawned);
  run.cut_short = wait(tool, patience, relay, tick);
  run.seconds = std::chrono::duration<double>(Clock::now() - started).count();
  run.end = tool.end();
  launch::forget_end(tool.pid());
  run.output = written_to(output.get());
  return run;
}

namespace {

constexpr const char* kDebugger = "cuda-gdb";

// Returns whether the path needs no quoting on the debugger's command line, which has its own quoting rules.
bool is_plain(const std::string& path) {
  return std::ranges::all_of(path, [](unsigned char c) {
    return c < 0x80 && (std::isalnum(c) != 0 || std::string("/._-+@").find(static_cast<char>(c)) != std::string::npos);
  });
}

}  // namespace

ToolRun run_debugger(const std::filesystem::path& dump, std::chrono::milliseconds patience,
                     launch::SignalRelay& relay) {
  ToolRun run;
  const std::string tool = find_toolkit_program(kDebugger);
  const base::FileDescriptor file(::open(dump.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.valid() && evidence::is_gzip(file.get())) run.obstacle = "cuda-gdb cannot read a compressed dump";
  if (tool.empty()) run.obstacle = "cuda-gdb is not installed here";
  if (!run.obstacle.empty()) return run;
  std::error_code ignored;
  std::string path = std::filesystem::absolute(dump, ignored).string();
  if (!is_plain(path)) path = fmt::format("/proc/{}/fd/{}", ::getpid(), file.get());
  std::vector<std::string> command = {
      tool, "--batch", "-nx", "-ex", "set width 0", "-ex", "set height 0", "-ex", "target cudacore " + path};
  for (const char* more : evidence::kDebuggerCommands) command.insert(command.end(), {"-ex", more});
  return run_tool(command, patience, relay);
}

bool is_compressed(const std::filesystem::path& dump) {
  const base::FileDescriptor file(::open(dump.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  return file.valid() && evidence::is_gzip(file.get());
}

bool has_debugger() { return !find_toolkit_program(kDebugger).empty(); }

std::string_view word(SanitizerTool tool) { return base::word_of(kSanitizerTools, tool); }

std::string find_sanitizer() { return find_toolkit_program("compute-sanitizer"); }

std::vector<std::string> sanitizer_command(const std::string& sanitizer, SanitizerTool tool,
                                           const std::filesystem::path& log, const std::vector<std::string>& kernels,
                                           const std::vector<std::string>& command) {
  std::error_code ignored;
  std::string file;  // the tool interprets a single % as a placeholder
  for (const char c : std::filesystem::absolute(log, ignored).string())
    file += c == '%' ? std::string("%%") : std::string(1, c);
  std::vector<std::string> words = {sanitizer,
                                    "--tool",
                                    std::string(word(tool)),
                                    "--target-processes",
                                    "all",
                                    "--demangle",
                                    "no",
                                    "--show-backtrace",
                                    "device",
                                    "--strip-paths",
                                    "no",
                                    "--report-api-errors",
                                    "no",
                                    "--print-limit",
                                    "100",
                                    "--log-file",
                                    file};
  for (const std::string& kernel : kernels) words.insert(words.end(), {"--kernel-name", "kne=" + kernel});
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

std::vector<std::uint16_t> sanitizer_ports() {
  // The default --port and --max-connections of compute-sanitizer, according to --help of versions 12.9 to 13.5.
  constexpr std::uint16_t kFirst = 49152, kCount = 10;
  std::vector<std::uint16_t> ports;
  for (std::uint16_t i = 0; i < kCount; ++i) ports.push_back(static_cast<std::uint16_t>(kFirst + i));
  return ports;
}

}  // namespace cudadiag::supervise
