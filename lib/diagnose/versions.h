// Versions of the packages that a process used, read from the names of the metadata folders that Python installers
// leave beside them ("torch-2.11.0.dist-info"). Nothing is imported or executed.
#pragma once

#include <map>
#include <string>

#include "session/process_record.h"

namespace cudadiag::diagnose {

// "torch", "triton", "cudnn", "nccl", as far as they are installed in the folders from which the process loaded
// libraries.
std::map<std::string, std::string> package_versions(const session::ProcessRecord& process);

}  // namespace cudadiag::diagnose
