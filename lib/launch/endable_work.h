// Work that a second request ends, even if it is stuck in a call that no handler interrupts.
//
// Reading a source from a file system whose server does not answer blocks until the process is killed, and a handler of
// ours would not run in the thread that reads. While there is an EndableWork, another thread takes TERM, INT, QUIT and
// HUP. The first request goes to the handlers, as usual. A second one, a while later, has its default effect.
//
// For one thread at a time, the one that works. If no thread can be made, signals keep their actions.
#pragma once

#include <signal.h>

#include <chrono>
#include <thread>

#include "base/file_descriptor.h"

namespace cudadiag::launch {

class EndableWork {
 public:
  // Requests that come within `patience` of the first are the same one: many press Ctrl-C twice.
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
