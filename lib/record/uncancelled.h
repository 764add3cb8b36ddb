// Disables thread cancellation during the recorder's own calls, such as open, read, write and nanosleep. These calls
// are cancellation points. The program expects cancellation only in its own calls.
#pragma once

#include <pthread.h>

namespace cudadiag::record {

class Uncancelled {
 public:
  Uncancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~Uncancelled() { pthread_setcancelstate(before_, nullptr); }
  Uncancelled(const Uncancelled&) = delete;
  Uncancelled& operator=(const Uncancelled&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace cudadiag::record
