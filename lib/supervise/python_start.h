// The start of a run that hears PyTorch's operators from the import of PyTorch on: by Python code of ours in the folder
// of the pass, which each interpreter of the command runs first. Nothing of CUDA's is needed.
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

// Each writes the code, and gives the variables for the command, on top of this process's own environment. One checks
// for elements that are not finite, one traces bad values back to where they came from, one looks for races.
base::Result<std::vector<launch::Variable>> start_of_nans(const NansOptions& options, session::SessionWriter& writer);
base::Result<std::vector<launch::Variable>> start_of_origins(double seconds, session::SessionWriter& writer);
base::Result<std::vector<launch::Variable>> start_of_tensor_races(session::SessionWriter& writer);

}  // namespace cudadiag::supervise
