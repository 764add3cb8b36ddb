// A cancelled thread ends in its next call that is a cancellation point (open, read, write, nanosleep). That must never
// be a call of the recorder: the program relies on its own cancellation points.
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
