// Versions of the packages that a process used. They come from the names of the metadata folders that Python
// installers put next to packages ("torch-2.11.0.dist-info"). Nothing is imported or executed.
#pragma once

#include <map>
#include <string>

#include "session/process_record.h"

namespace cudadiag::diagnose {

// Versions of "torch", "triton", "cudnn" and "nccl", if they are installed in a folder from which the process loaded
// libraries.
std::map<std::string, std::string> package_versions(const session::ProcessRecord& process);

}  // namespace cudadiag::diagnose
