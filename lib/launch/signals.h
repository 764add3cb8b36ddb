// The signals that this process receives: those that a launcher passes on to the command, and those that ask it to
// exit.
#pragma once

#include <signal.h>
#include <sys/types.h>
#include <time.h>

#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "base/files.h"

namespace cudadiag::launch {

struct ReceivedSignal {
  int number;
  pid_t sender;  // 0 if unknown
};

// Returns the last INT, QUIT, TERM or HUP that this process received since the last SignalRelay was created. Returns 0
// if there was none.
int ending_signal();
inline bool asked_to_end() { return ending_signal() != 0; }
// Returns how many INT, QUIT, TERM and HUP this process has received since the last SignalRelay was created.
int ending_signals();

// Handles the signals that a launcher relays, for the lifetime of this object. Only one may exist at a time. A signal
// that was ignored when this process started stays ignored, here and in the target. A signal that was blocked at that
// time stays blocked in the target.
class SignalRelay {
 public:
  SignalRelay();
  ~SignalRelay();
  SignalRelay(const SignalRelay&) = delete;
  SignalRelay& operator=(const SignalRelay&) = delete;

  // Waits for a signal, the exit of a child, or wake(), for at most `milliseconds`.
  void wait(int milliseconds);
  // Makes wait() return. May be called from any thread.
  void wake();
  // Returns the signals that other processes sent to this process or to its group, each signal once, oldest first. The
  // kernel does not say which of the two was the destination.
  std::vector<ReceivedSignal> take_signals();
  bool interrupted() const { return asked_to_end(); }
};

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
class EndableWork {
 public:
  // Signals within `patience` of the first count as the same request, because many users press Ctrl-C twice.
  explicit EndableWork(std::chrono::milliseconds patience = std::chrono::seconds(1));
  // Calls `give_up` several times a second, on a separate thread, instead of killing the process. `idle` is for how
  // long the work has made no progress. `asked` becomes true a moment after the second signal, so that the work can end
  // by itself.
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
