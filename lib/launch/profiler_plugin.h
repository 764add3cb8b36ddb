// How NCCL is made to tell the recorder of its communicators: as its profiler plugin, in front of the user's own.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "launch/environment.h"

namespace cudadiag::launch {

// The profiler plugin that NCCL would load by itself: the value of $NCCL_PROFILER_PLUGIN, else of its line in NCCL's
// files of settings ($NCCL_CONF_FILE or ~/.nccl.conf, then /etc/nccl.conf). Empty: NCCL's default one.
std::string wanted_profiler();

// Empty if the user turned profilers off ("none").
std::vector<Variable> profiler_variables(const std::filesystem::path& recorder);

}  // namespace cudadiag::launch
