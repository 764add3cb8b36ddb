// Writes the output of the Python hook: lines in a file next to the process's area (wire/rerun/delivery.h). Uses
// write(2) for each line, so that the lines survive a crash of the process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cudadiag::record {

class Deliveries {
 public:
  // Returns false if the line was dropped. Any thread may call this function.
  bool add(std::string_view text);
  // Writes to a separate file that keeps only the latest lines.
  bool add_watched(std::string_view text);

 private:
  static int open(const char* suffix, int flags);

  std::atomic<std::size_t> used_ = 0;
  std::atomic<std::uint64_t> watched_ = 0;
};

}  // namespace cudadiag::record
