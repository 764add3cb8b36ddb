// Makes NCCL report its communicators to the recorder. NCCL loads the recorder as a profiler plugin before the user's
// plugin.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "launch/environment.h"

namespace cudadiag::launch {

// Returns the profiler plugin that NCCL would load without cudadiag. This is $NCCL_PROFILER_PLUGIN, or the setting of
// that name in NCCL's files ($NCCL_CONF_FILE or ~/.nccl.conf, then /etc/nccl.conf). Returns "" for NCCL's default
// plugin.
std::string wanted_profiler();

// Returns no variables if the user turned profilers off ("none").
std::vector<Variable> profiler_variables(const std::filesystem::path& recorder);

}  // namespace cudadiag::launch
