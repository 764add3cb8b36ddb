// Finds the versions of the Python packages that a process used. Reads the names of the metadata folders that
// installers put next to packages ("torch-2.11.0.dist-info"). Imports and executes nothing.
#pragma once

#include <map>
#include <string>

#include "session/process_record.h"

namespace cudadiag::diagnose {

// Returns the versions of "torch", "triton", "cudnn" and "nccl". Finds only packages in folders from which the process
// loaded libraries.
std::map<std::string, std::string> package_versions(const session::ProcessRecord& process);

}  // namespace cudadiag::diagnose
