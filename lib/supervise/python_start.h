// Prepares a run that observes PyTorch's operators as soon as PyTorch is imported. Each Python interpreter of the
// command first runs our code from the pass folder. Does not need CUDA.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "launch/environment.h"
#include "session/session_writer.h"

namespace cudadiag::supervise {

// Switches torch.compile off, because compiled code hides its individual operators.
inline const launch::Variable kUncompiled = {"TORCHDYNAMO_DISABLE", "1"};

struct NansOptions {
  bool also_infinite = false;
  bool blocking = false;             // make the program wait for each check on a GPU
  std::uint32_t history = 1u << 16;  // how many checks on a GPU may be pending
};

// Each function writes Python code for a run, and returns variables for the command's environment. In the order of the
// functions, this code checks for elements that are not finite, finds races, traces bad values to their origin, or finds
// graphs that use memory of other tensors. The last two can run beside the recorder.
base::Result<std::vector<launch::Variable>> start_of_nans(const NansOptions& options, session::SessionWriter& writer);
base::Result<std::vector<launch::Variable>> start_of_tensor_races(session::SessionWriter& writer);
base::Result<std::vector<launch::Variable>> start_of_origins(double seconds, session::SessionWriter& writer);
base::Result<std::vector<launch::Variable>> start_of_graph_memory(const std::filesystem::path& recorder,
                                                                  session::SessionWriter& writer);

}  // namespace cudadiag::supervise
