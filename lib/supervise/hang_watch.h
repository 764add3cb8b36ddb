// Notices that a run with work on the GPU makes no progress for the given time: no operation is issued, none ends, and
// no call that may block begins. In doubt it says nothing: a run that only computes on the host, is stopped or under a
// debugger, or whose state is not known, does not count as hanging.
#pragma once

#include <chrono>
#include <cstdint>

#include "launch/arena.h"

namespace cudadiag::supervise {

class HangWatch {
 public:
  HangWatch(const launch::Arena& arena, double seconds);

  // Looks, at most every interval(); true once it hangs.
  bool look();
  // How long to wait between two looks.
  std::chrono::milliseconds interval() const { return interval_; }
  double still_seconds() const { return std::chrono::duration<double>(still_).count(); }

 private:
  using Clock = std::chrono::steady_clock;

  const launch::Arena& arena_;
  const std::chrono::duration<double> limit_;
  const std::chrono::milliseconds interval_;
  std::uint64_t digest_ = 0, judged_ = 0;
  Clock::time_point last_;
  Clock::duration still_{};  // time seen without progress: a launcher that was stopped itself has seen none
};

// Stopped by a signal or held by a debugger; or gone, as a zombie is, and a pid of another pid namespace.
enum class Life { runs, gone, stopped };
Life life_of(std::uint32_t pid);

// A zombie has, too.
bool has_ended(std::uint32_t pid);

}  // namespace cudadiag::supervise
