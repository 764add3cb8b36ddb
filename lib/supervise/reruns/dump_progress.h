// Detects whether the driver is still writing a GPU core dump, from the progress that it prints for each SM. Dumping a
// whole GPU takes a minute or more, even if the program itself runs only briefly.
#pragma once

#include <cstdint>
#include <filesystem>
#include <utility>

namespace cudadiag::supervise {

class DumpProgress {
 public:
  // `output`: what a pass with CUDA_COREDUMP_SHOW_PROGRESS prints.
  explicit DumpProgress(std::filesystem::path output) : output_(std::move(output)) {}

  // Returns true if the output has grown since the last call, and its last line is about the driver's progress.
  bool moves();

 private:
  std::filesystem::path output_;
  std::uint64_t size_ = 0;
};

}  // namespace cudadiag::supervise
