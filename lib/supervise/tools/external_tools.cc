#include "supervise/tools/external_tools.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "base/file_descriptor.h"
#include "evidence/testimony.h"
#include "evidence/tool_text.h"

namespace cudadiag::supervise {
namespace {

constexpr const char* kDebugger = "cuda-gdb";

// Returns whether the path needs no quoting on the debugger's command line, which has its own quoting rules.
bool is_plain(const std::string& path) {
  return std::all_of(path.begin(), path.end(), [](unsigned char c) {
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
