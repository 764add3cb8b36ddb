// The output of the Python hook, as lines of a file beside the process's area (wire/rerun/delivery.h). Written line by line
// with write(2), so that it survives the process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cudadiag::record {

class Deliveries {
 public:
  // False: the line was not kept. From any thread.
  bool add(std::string_view text);
  // The latest ones only, in a file of their own.
  bool add_watched(std::string_view text);

 private:
  static int open(const char* suffix, int flags);

  std::atomic<std::size_t> used_ = 0;
  std::atomic<std::uint64_t> watched_ = 0;
};

}  // namespace cudadiag::record
