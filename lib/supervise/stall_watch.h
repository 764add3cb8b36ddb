// Finds operations that hang while the program runs (`--on-hang=report`). Reads only the program's area in shared memory:
// a few words of each stream at every check, and the records only when an operation has been unfinished for a long
// time. If in doubt, reports nothing. Use only on the launcher's main thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "launch/arena.h"
#include "session/notes/stalls.h"

namespace cudadiag::supervise {

struct StallNews {
  std::vector<session::Stall> found;
  struct Ended {
    std::size_t stall = 0;  // index among all stalls found
    double seconds = 0;     // how long it lasted
  };
  std::vector<Ended> ended;
  bool empty() const { return found.empty() && ended.empty(); }
};

class StallWatch {
 public:
  StallWatch(const launch::Arena& arena, double seconds);
  ~StallWatch();
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;

  // Checks the run, at most once per interval().
  StallNews look();
  // How long to wait between two checks.
  std::chrono::milliseconds interval() const { return interval_; }
  // Call this after the program has ended. Returns the stalls that ended since the last check.
  StallNews finish();

 private:
  using Clock = std::chrono::steady_clock;
  struct Watched;

  void look_at(Watched& process, double passed, StallNews& news);
  bool others_work(const Watched& process) const;
  void take_ended(Watched& process, StallNews& news) const;

  const launch::Arena& arena_;
  const double seconds_;
  const std::chrono::milliseconds interval_;
  Clock::time_point last_;
  std::vector<std::unique_ptr<Watched>> processes_;  // by area
  std::size_t found_ = 0;
};

}  // namespace cudadiag::supervise
