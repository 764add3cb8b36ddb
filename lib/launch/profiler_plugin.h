// Makes NCCL report its communicators to the recorder, by loading the recorder as a profiler plugin before the user's.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "launch/environment.h"

namespace cudadiag::launch {

// Returns the profiler plugin that NCCL would load without cudadiag: the value of $NCCL_PROFILER_PLUGIN, or of its line
// in NCCL's settings files ($NCCL_CONF_FILE or ~/.nccl.conf, then /etc/nccl.conf). Returns "" for NCCL's default
// plugin.
std::string wanted_profiler();

// Returns no variables if the user turned profilers off ("none").
std::vector<Variable> profiler_variables(const std::filesystem::path& recorder);

}  // namespace cudadiag::launch
