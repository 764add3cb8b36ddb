// Waits for freezes in the arena on a separate thread, and wakes the launcher's loop at each freeze. If the thread
// cannot be started, the loop notices a freeze in its next iteration.
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

  // Returns true if a process has frozen its recording since the last call.
  bool take_freeze();

 private:
  Arena& arena_;
  std::uint32_t seen_;  // used only by the thread, if it was started
  std::atomic<bool> frozen_ = false;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace cudadiag::launch
