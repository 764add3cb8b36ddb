// Prepares a run that observes PyTorch's operators from the moment PyTorch is imported. Each interpreter of the command
// first runs Python code from the pass folder. CUDA is not needed.
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
  std::uint32_t history = 1u << 16;  // the limit for pending checks on a GPU
};

// Each function writes the Python code and returns variables to add to the command's environment. The first checks for
// elements that are not finite, the second traces bad values to their origin, and the third finds races.
base::Result<std::vector<launch::Variable>> start_of_nans(const NansOptions& options, session::SessionWriter& writer);
base::Result<std::vector<launch::Variable>> start_of_origins(double seconds, session::SessionWriter& writer);
base::Result<std::vector<launch::Variable>> start_of_tensor_races(session::SessionWriter& writer);

}  // namespace cudadiag::supervise
