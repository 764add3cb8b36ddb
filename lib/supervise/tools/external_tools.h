// Foreign programs that are asked what they make of a failure: NVIDIA's debugger over a GPU core dump, and
// compute-sanitizer over a rerun (rerun.h). They run only on request, and their failure never changes the report.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "launch/process.h"
#include "supervise/tools/toolkit.h"

namespace cudadiag::supervise {

inline constexpr std::chrono::milliseconds kDebuggerPatience = std::chrono::seconds(30);

// Reads the dump; `obstacle` is set where there is no debugger here, or it could not read this file.
ToolRun run_debugger(const std::filesystem::path& dump, std::chrono::milliseconds patience, launch::SignalRelay& relay);

// By gzip: the debugger does not read such a dump.
bool is_compressed(const std::filesystem::path& dump);
bool has_debugger();

// Empty: it is not installed here.
std::string find_sanitizer();
enum class SanitizerTool { memcheck, racecheck, initcheck, synccheck };
std::string_view word(SanitizerTool tool);
// `command` under one of its tools, which checks these kernels alone (empty: all) and writes its words to `log`. Names stay mangled, so that
// they can be compared.
std::vector<std::string> sanitizer_command(const std::string& sanitizer, SanitizerTool tool,
                                           const std::filesystem::path& log, const std::vector<std::string>& kernels,
                                           const std::vector<std::string>& command);
// By which it and the program talk.
std::vector<std::uint16_t> sanitizer_ports();

}  // namespace cudadiag::supervise
