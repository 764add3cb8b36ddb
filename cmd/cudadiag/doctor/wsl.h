// Detects the Windows Subsystem for Linux, version 2, where Linux uses the NVIDIA driver of Windows.
#pragma once

#include <optional>
#include <string>

namespace cudadiag::command {

// Returns the release of WSL2's kernel; nullopt if this is not WSL2.
std::optional<std::string> wsl_kernel();

}  // namespace cudadiag::command
