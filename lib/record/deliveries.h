// What the Python hook tells, as lines of a file beside the process's area (wire/delivery.h). Written line by line
// with write(2), so that it survives whatever becomes of the process.
#pragma once

#include <atomic>
#include <cstddef>
#include <string_view>

namespace cudadiag::record {

class Deliveries {
 public:
  // False: the line was not kept. From any thread.
  bool add(std::string_view text);

 private:
  int open();

  std::atomic<std::size_t> used_ = 0;
};

}  // namespace cudadiag::record
