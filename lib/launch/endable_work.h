// Lets the user terminate this process even while it is stuck in a call that no signal handler interrupts.
//
// Reading a source file can block forever if a file server does not answer. The blocked thread then runs no signal
// handler. While an EndableWork exists, a separate thread takes the signals that ask this process to exit: TERM, INT,
// QUIT and HUP. It passes the first such signal to the usual handler. On the second, it kills the process with the
// signal's default action. Ignored signals stay ignored.
//
// The work of `cudadiag run` must not keep the command's exit status from its caller. With `give_up`, the thread also
// watches whether the work makes progress. It measures the CPU time of the worker: a loop that waits for something uses
// a little, and a call that waits for a file server uses none.
//
// Create at most one EndableWork at a time, on the thread that does the work. If the thread cannot be created, the
// signals keep their actions.
#pragma once

#include <signal.h>
#include <time.h>

#include <chrono>
#include <functional>
#include <thread>

#include "base/file_descriptor.h"

namespace cudadiag::launch {

// Returns how many INT, QUIT, TERM and HUP this process has received since the last SignalRelay was created.
int ending_signals();

class EndableWork {
 public:
  // Signals within `patience` of the first count as the same request, because many users press Ctrl-C twice.
  explicit EndableWork(std::chrono::milliseconds patience = std::chrono::seconds(1));
  // Calls `give_up` several times a second, on a separate thread, instead of killing the process. `idle` is for how long
  // the work has made no progress. `asked` becomes true a moment after the second signal, so that the work can end by
  // itself.
  using GiveUp = std::function<void(std::chrono::milliseconds idle, bool asked)>;
  EndableWork(std::chrono::milliseconds patience, GiveUp give_up);
  ~EndableWork();
  EndableWork(const EndableWork&) = delete;
  EndableWork& operator=(const EndableWork&) = delete;

 private:
  void start(std::chrono::milliseconds patience);
  void take_requests(std::chrono::milliseconds patience) const;

  GiveUp give_up_;                 // empty: the second signal kills the process
  clockid_t worker_{};             // the CPU time of the thread that does the work
  base::FileDescriptor requests_;  // signalfd
  base::FileDescriptor done_;      // eventfd
  sigset_t before_{};
  std::thread taker_;
};

}  // namespace cudadiag::launch
