// Finds and runs programs of NVIDIA's toolkit. They are used if they are installed, but never required. Each runs in a
// separate process with a time limit, and may crash, hang or print anything.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "launch/process.h"
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

ToolRun run_tool(const std::vector<std::string>& command, std::chrono::milliseconds patience,
                 launch::SignalRelay& relay);

}  // namespace cudadiag::supervise
