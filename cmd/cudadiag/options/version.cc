#include "options/version.h"

#include <cuda.h>
#include <fmt/core.h>

#include "wire/area.h"

namespace cudadiag::command {

std::string version_text() {
  return fmt::format(
      "cudadiag {}\n"
      "commit          {}\n"
      "session format  {}\n"
      "report format   cudadiag.report/1\n"
      "CUDA driver     12 or 13\n"
      "CUPTI           12 or 13, not newer than the driver; built with the headers of CUDA {}.{}",
      CUDADIAG_VERSION, kCommit, wire::area::kFormatVersion, CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10);
}

}  // namespace cudadiag::command
