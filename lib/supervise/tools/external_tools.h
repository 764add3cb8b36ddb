// Runs other programs that examine a failure: NVIDIA's debugger on a GPU core dump, and compute-sanitizer on a rerun
// (rerun.h). They run only if the user requests them. If they fail, the rest of the report stays the same.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "launch/process.h"
#include "supervise/tools/toolkit.h"

namespace cudadiag::supervise {

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
