// Requests of a run to our Python code inside the program: which checks it makes, and at which lines it reads values.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "analyse/analysis.h"
#include "launch/environment.h"
#include "session/session.h"
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
// functions, this code checks for elements that are not finite, finds races, traces bad values to their origin, or
// finds graphs that use memory of other tensors. The last two can run beside the recorder.
base::Result<std::vector<launch::Variable>> start_of_nans(const NansOptions& options, session::SessionWriter& writer);
base::Result<std::vector<launch::Variable>> start_of_tensor_races(session::SessionWriter& writer);
base::Result<std::vector<launch::Variable>> start_of_origins(double seconds, session::SessionWriter& writer);
base::Result<std::vector<launch::Variable>> start_of_graph_memory(const std::filesystem::path& recorder,
                                                                  session::SessionWriter& writer);

// Returns the request to the hook, in the format of wire/rerun.h; empty if there are no lines.
std::string watched_lines(const std::vector<std::string>& lines);

// Returns a warning for each line that does not exist yet. The program may still create the file.
std::vector<std::string> doubtful_lines(const std::vector<std::string>& lines, const std::vector<std::string>& command);

// Returns a sentence for each line that no process of the run reached, and for each line that used no values.
std::vector<std::string> silent_lines(const std::vector<std::string>& lines, const session::Session& session);

// Returns the request to the hook, in the format of wire/rerun.h; empty if there are no lines. `seconds`: how
// long reading values may take. `save_limit`: how many bytes of the failing call may be saved; 0 to save none.
std::string suspect_lines(const session::Session& session, const analyse::Analysis& analysis, double seconds,
                          std::uint64_t save_limit);

// Like suspect_lines(), for both lines of each race that the first run found, and of each undecided pair.
std::string racing_lines(const session::Session& session, double seconds);

}  // namespace cudadiag::supervise
