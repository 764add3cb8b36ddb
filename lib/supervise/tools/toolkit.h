// Programs of NVIDIA's toolkit, which are used if they are installed, but are never required. Each runs separately,
// within a time limit, and may crash, hang or print anything.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "launch/process.h"
#include "session/session.h"

namespace cudadiag::supervise {

// Returns the path of a program on PATH, or in `bin` of $CUDA_HOME, $CUDA_PATH or /usr/local/cuda; empty if none is
// there.
std::string find_toolkit_program(const std::string& name);

// Returns the path of nvdisasm, from the toolkit or from a package of the Python that `command` uses; empty if there is
// none.
std::string find_disassembler(const std::vector<std::string>& command);

struct ToolRun {
  std::string output;     // of stdout and stderr, at most 64 MB
  std::string obstacle;   // why it could not be started; empty if it was started
  std::string cut_short;  // why it was ended early; empty if it was not
  session::ProcessEnd end;
  double seconds = 0;
};

ToolRun run_tool(const std::vector<std::string>& command, std::chrono::milliseconds patience,
                 launch::SignalRelay& relay);

}  // namespace cudadiag::supervise
