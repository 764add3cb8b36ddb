#include "disassembly.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <variant>
#include <vector>

#include "launch/command_path.h"
#include "launch/process.h"
#include "session/file_descriptor.h"

namespace cudadiag::command {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kTool = "nvdisasm";
constexpr std::chrono::seconds kPatience{5};
constexpr std::chrono::seconds kToDie{1};
constexpr std::size_t kLongestOutput = std::size_t{64} << 20;
constexpr std::size_t kLongestInstruction = 200;

std::string find_tool() {
  if (std::string path = launch::find_command(kTool).path; !path.empty()) return path;
  const char* const roots[] = {std::getenv("CUDA_HOME"), std::getenv("CUDA_PATH"), "/usr/local/cuda"};
  for (const char* root : roots) {
    if (root == nullptr || *root == '\0') continue;
    const std::string path = std::string(root) + "/bin/" + kTool;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

// "SM90" for "sm_90". The text is the dump's and becomes an argument.
std::string tool_s_name(const std::string& architecture) {
  if (!architecture.starts_with("sm_") || architecture.size() > 8) return "";
  const std::string rest = architecture.substr(3);
  const bool plain =
      std::all_of(rest.begin(), rest.end(), [](char c) { return (c >= '0' && c <= '9') || c == 'a' || c == 'f'; });
  return rest.empty() || !plain ? "" : "SM" + rest;
}

bool write_all(int file, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(file, text.data() + done, text.size() - done);
    if (count <= 0) return false;
    done += static_cast<std::size_t>(count);
  }
  return true;
}

std::string read_all(int file) {
  std::string text;
  std::string part(std::size_t{64} << 10, '\0');
  while (text.size() < kLongestOutput) {
    const ssize_t count = ::pread(file, part.data(), part.size(), static_cast<off_t>(text.size()));
    if (count <= 0) break;
    text.append(part, 0, static_cast<std::size_t>(count));
  }
  return text;
}

std::vector<std::string> environment() {
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) variables.emplace_back(*entry);
  return variables;
}

// True if the tool ended well and in time.
bool run(const std::vector<std::string>& command, int output) {
  launch::SignalRelay relay;
  const session::FileDescriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  launch::SpawnOptions options;
  options.apart = true;
  options.input = nothing.get();
  options.output = output;
  auto spawned = launch::Target::spawn(command, environment(), options);
  auto* tool = std::get_if<launch::Target>(&spawned);
  if (tool == nullptr) return false;
  auto deadline = Clock::now() + kPatience;
  bool killed = false;
  while (!tool->reap()) {
    const bool late = Clock::now() >= deadline;
    if (late && killed) return false;  // a process that cannot die now
    if (!killed && (late || relay.interrupted())) {
      tool->signal_all(SIGKILL);
      killed = true;
      deadline = Clock::now() + kToDie;
    }
    relay.wait(100);
  }
  return !killed && tool->end().code == 0;
}

// The line of the tool that begins with the offset: "/*0070*/   LDG.E R5, desc[UR4][R4.64] ;".
std::string instruction_at(const std::string& output, std::uint64_t offset) {
  const std::string mark = fmt::format("/*{:04x}*/", offset);
  const std::size_t at = output.find(mark);
  if (at == std::string::npos) return "";
  const std::size_t begin = output.find_first_not_of(" \t", at + mark.size());
  const std::size_t end = output.find_first_of(";\n", begin);
  if (begin == std::string::npos || end == std::string::npos || output[end] != ';') return "";
  const std::string text = output.substr(begin, std::min(end - begin, kLongestInstruction));
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

}  // namespace

std::string failing_instruction(const gpucore::FunctionCode& code) {
  const std::string tool = find_tool(), architecture = tool_s_name(code.architecture);
  if (tool.empty() || architecture.empty()) return "";
  // Files without a name: nobody else can open them, and none is left behind.
  const session::FileDescriptor input(::memfd_create("code", MFD_CLOEXEC)),
      output(::memfd_create("disassembly", MFD_CLOEXEC));
  if (input.get() < 0 || output.get() < 0 || !write_all(input.get(), code.instructions)) return "";
  const std::string path = fmt::format("/proc/{}/fd/{}", ::getpid(), input.get());
  if (!run({tool, "-b", architecture, path}, output.get())) return "";
  return instruction_at(read_all(output.get()), code.offset);
}

}  // namespace cudadiag::command
