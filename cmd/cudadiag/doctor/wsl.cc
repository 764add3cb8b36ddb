#include "doctor/wsl.h"

#include <fstream>

namespace cudadiag::command {

std::optional<std::string> wsl_kernel() {
  std::ifstream file("/proc/sys/kernel/osrelease");
  std::string release;
  std::getline(file, release);
  // For example, "5.15.167.4-microsoft-standard-WSL2".
  if (release.find("microsoft") == std::string::npos && release.find("WSL") == std::string::npos) return std::nullopt;
  return release;
}

}  // namespace cudadiag::command
