// Detects the Windows Subsystem for Linux 2 (WSL2), where programs use the Windows NVIDIA driver.
#pragma once

#include <optional>
#include <string>

namespace cudadiag::command {

// Returns the release of the running kernel if this is WSL2, otherwise nullopt.
std::optional<std::string> wsl_kernel();

}  // namespace cudadiag::command
