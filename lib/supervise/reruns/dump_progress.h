// Whether the driver still writes a GPU core dump: it says so, SM by SM, in the output of the pass. A dump of a whole
// GPU takes a minute and more, whatever the time of the program itself.
#pragma once

#include <cstdint>
#include <filesystem>
#include <utility>

namespace cudadiag::supervise {

class DumpProgress {
 public:
  // `output`: of a pass that has CUDA_COREDUMP_SHOW_PROGRESS.
  explicit DumpProgress(std::filesystem::path output) : output_(std::move(output)) {}

  // The output has grown since the last call, and its last line is the driver's, of a dump.
  bool moves();

 private:
  std::filesystem::path output_;
  std::uint64_t size_ = 0;
};

}  // namespace cudadiag::supervise
