// Finds and runs programs of NVIDIA's toolkit. They are used if they are installed, but never required. Each runs in a
// separate process with a time limit, and may crash, hang or print anything.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "launch/signals.h"
#include "session/session.h"

namespace cudadiag::supervise {

// Returns the path of a program on PATH, or in `bin` of $CUDA_HOME, $CUDA_PATH or /usr/local/cuda; empty if it is in
// none of these.
std::string find_toolkit_program(const std::string& name);

// Returns the path of nvdisasm, from the toolkit or from a package of the Python that `command` uses; empty if neither
// has it.
std::string find_disassembler(const std::vector<std::string>& command);

struct ToolRun {
  std::string output;     // of stdout and stderr, at most 64 MB
  std::string obstacle;   // why the tool could not be started; empty if it was
  std::string cut_short;  // why the tool was ended early; empty if it was not
  session::ProcessEnd end;
  double seconds = 0;
};

// Calls `tick` several times a second while the tool runs.
ToolRun run_tool(const std::vector<std::string>& command, std::chrono::milliseconds patience,
                 launch::SignalRelay& relay, const std::function<void()>& tick = {});

// ---- programs that examine a failure
//
// NVIDIA's debugger examines a GPU core dump, and compute-sanitizer a rerun (reruns/rerun.h). They run only if the user
// requests them. If they fail, the rest of the report stays the same.

inline constexpr std::chrono::milliseconds kDebuggerPatience = std::chrono::seconds(30);

// Reads the dump. Sets `obstacle` if this machine has no debugger, or if the debugger cannot read this file.
ToolRun run_debugger(const std::filesystem::path& dump, std::chrono::milliseconds patience, launch::SignalRelay& relay);

// Returns whether the dump is compressed by gzip. The debugger cannot read compressed dumps.
bool is_compressed(const std::filesystem::path& dump);
bool has_debugger();

// Returns the path of compute-sanitizer; empty if it is not installed.
std::string find_sanitizer();
enum class SanitizerTool { memcheck, racecheck, initcheck, synccheck };
inline constexpr base::Words<SanitizerTool, 4> kSanitizerTools = {{
    {SanitizerTool::memcheck, "memcheck"},
    {SanitizerTool::racecheck, "racecheck"},
    {SanitizerTool::initcheck, "initcheck"},
    {SanitizerTool::synccheck, "synccheck"},
}};
std::string_view word(SanitizerTool tool);
// Returns the command that runs `command` under one of the sanitizer's tools. The tool checks only these kernels (all
// if empty), and writes its output to `log`. Names stay mangled, so that we can compare them.
std::vector<std::string> sanitizer_command(const std::string& sanitizer, SanitizerTool tool,
                                           const std::filesystem::path& log, const std::vector<std::string>& kernels,
                                           const std::vector<std::string>& command);
// Returns the ports over which the sanitizer and the program communicate.
std::vector<std::uint16_t> sanitizer_ports();

}  // namespace cudadiag::supervise
