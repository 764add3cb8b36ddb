// Waits for freezes in the arena on a thread of its own and wakes the launcher's loop at each. If that thread cannot be
// started, the loop finds them in its next round.
#pragma once

#include <atomic>
#include <thread>

#include "launch/arena.h"
#include "launch/process.h"

namespace cudadiag::launch {

class Watcher {
 public:
  Watcher(Arena& arena, SignalRelay& relay);
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  // Whether a process has frozen since the last time this was asked.
  bool take_freeze();

 private:
  Arena& arena_;
  std::uint32_t seen_;  // the thread's, where there is one
  std::atomic<bool> frozen_ = false;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace cudadiag::launch
