// Finds out whether the driver is still writing a GPU core dump. The driver reports each SM in the output of the pass.
// A dump of a whole GPU takes a minute or more, even if the program runs only briefly.
#pragma once

#include <cstdint>
#include <filesystem>
#include <utility>

namespace cudadiag::supervise {

class DumpProgress {
 public:
  // `output` is the output of a pass with CUDA_COREDUMP_SHOW_PROGRESS.
  explicit DumpProgress(std::filesystem::path output) : output_(std::move(output)) {}

  // Returns true if the output has grown since the last call and its last line is a progress message of the driver.
  bool moves();

 private:
  std::filesystem::path output_;
  std::uint64_t size_ = 0;
};

}  // namespace cudadiag::supervise
