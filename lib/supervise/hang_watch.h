// Detects a run that has work on the GPU but makes no progress for a given time: no operation is issued, none finishes,
// and no call that may block begins. If in doubt, reports nothing. A run is not hanging if it computes on the host
// only, is stopped or in a debugger, or is in an unknown state.
#pragma once

#include <chrono>
#include <cstdint>

#include "launch/arena.h"

namespace cudadiag::supervise {

class HangWatch {
 public:
  HangWatch(const launch::Arena& arena, double seconds);

  // Checks the run, at most once per interval(). Returns true if the run hangs.
  bool look();
  // How long to wait between two checks.
  std::chrono::milliseconds interval() const { return interval_; }
  double still_seconds() const { return std::chrono::duration<double>(still_).count(); }

 private:
  using Clock = std::chrono::steady_clock;

  const launch::Arena& arena_;
  const std::chrono::duration<double> limit_;
  const std::chrono::milliseconds interval_;
  std::uint64_t digest_ = 0, judged_ = 0;
  Clock::time_point last_;
  Clock::duration still_{};  // how long no progress was seen; excludes time in which the launcher itself was stopped
};

}  // namespace cudadiag::supervise
