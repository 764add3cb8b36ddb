// Makes sure that a second request to end (TERM, INT, QUIT or HUP) always works. It works even while this process is
// stuck in a call that no signal handler interrupts.
//
// Reading a source file can block forever if the file server does not answer, and the blocked thread runs no signal
// handler. While an EndableWork exists, a separate thread therefore takes these signals. It passes the first request to
// the usual handler. A second request then has the default effect of its signal.
//
// Only one EndableWork may exist at a time, on the thread that does the work. If no thread can be created, signals keep
// their actions.
#pragma once

#include <signal.h>

#include <chrono>
#include <thread>

#include "base/file_descriptor.h"

namespace cudadiag::launch {

class EndableWork {
 public:
  // Requests within `patience` of the first count as part of it, because many users press Ctrl-C twice.
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
