// Makes NCCL report its communicators to the recorder. NCCL loads the recorder as a profiler plugin before the user's
// plugin.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "launch/environment.h"

namespace cudadiag::launch {

// Returns what is wrong with the plugin that the user chose by its path; nullopt if nothing is. The user's plugin is the
// one in $NCCL_PROFILER_PLUGIN, or in NCCL's files ($NCCL_CONF_FILE or ~/.nccl.conf, then /etc/nccl.conf). The recorder
// loads no plugin that has a fault: a truncated one would crash the program.
std::optional<base::Error> fault_in_profiler(const std::filesystem::path& recorder);

// Returns no variables if the user turned profilers off ("none").
std::vector<Variable> profiler_variables(const std::filesystem::path& recorder);

}  // namespace cudadiag::launch
