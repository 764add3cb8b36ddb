// Lets the user terminate this process even while it is stuck in a call that no signal handler interrupts.
//
// Reading a source file can block forever if a file server does not answer. The blocked thread then runs no signal
// handler. While an EndableWork exists, a separate thread takes the signals that ask this process to exit: TERM, INT,
// QUIT and HUP. It passes the first such signal to the usual handler. On the second, it kills the process with the
// signal's default action. Ignored signals stay ignored.
//
// Create at most one EndableWork at a time, on the thread that does the work. If the thread cannot be created, the
// signals keep their actions.
#pragma once

#include <signal.h>

#include <chrono>
#include <thread>

#include "base/file_descriptor.h"

namespace cudadiag::launch {

class EndableWork {
 public:
  // Signals within `patience` of the first count as the same request, because many users press Ctrl-C twice.
  explicit EndableWork(std::chrono::milliseconds patience = std::chrono::seconds(1));
  ~EndableWork();
  EndableWork(const EndableWork&) = delete;
  EndableWork& operator=(const EndableWork&) = delete;

 private:
  void take_requests(std::chrono::milliseconds patience) const;

  base::FileDescriptor requests_;  // signalfd
  base::FileDescriptor done_;      // eventfd
  sigset_t before_{};
  std::thread taker_;
};

}  // namespace cudadiag::launch
