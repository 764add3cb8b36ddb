// The start of a run that checks PyTorch's operators for elements that are not finite: by Python code of ours in the
// folder of the pass, which each interpreter of the command runs first. Nothing of CUDA's is needed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "launch/environment.h"
#include "session/session_writer.h"

namespace cudadiag::supervise {

struct NansOptions {
  bool also_infinite = false;
  bool blocking = false;             // the program waits for each check on a GPU
  std::uint32_t history = 1u << 16;  // the most checks on a GPU whose outcome is not known yet
};

// Writes the code. The variables for the command, on top of this process's own environment.
base::Result<std::vector<launch::Variable>> start_of_nans(const NansOptions& options, session::SessionWriter& writer);

}  // namespace cudadiag::supervise
