// Finds runs that hang, and operations that hang while the program runs (`--on-hang=report`) or when a signal asks it
// to end. Reads only the program's area in shared memory: a few words of each stream at every check, and the records
// only when an operation has been unfinished for a long time. If in doubt, reports nothing. Use only on the launcher's
// main thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "launch/arena.h"
#include "session/session.h"

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
  // If `seconds` is nullopt, look() reports nothing, and finish() returns only the operations that hung when
  // interrupted() was called. The limit is then 5 s, and an operation must have taken ten times as long as any earlier
  // one of its call site.
  StallWatch(const launch::Arena& arena, std::optional<double> seconds);
  ~StallWatch();
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;

  // Checks the run, at most once per interval().
  StallNews look();
  // How long to wait between two checks.
  std::chrono::milliseconds interval() const { return interval_; }
  // Call this when a signal asks the program to end, even if the program has ended meanwhile.
  void interrupted();
  // Call this after the program has ended. Returns the stalls that ended since the last check, and those that hung when
  // the program was interrupted and have not ended since.
  StallNews finish();

 private:
  using Clock = std::chrono::steady_clock;
  struct Watched;

  // A stall that look() did not report.
  struct Silent {
    session::Stall stall;
    const Watched* process = nullptr;
    double began = 0;  // on the clock of its process
  };

  // `whole`: check everything now, even in a process that is ending.
  void look_at_all(Clock::time_point now, bool whole, StallNews& news);
  void look_at(Watched& process, double passed, bool whole, StallNews& news);
  bool others_work(const Watched& process) const;
  void take_ended(Watched& process, StallNews& news);

  const launch::Arena& arena_;
  const bool reports_;
  const double seconds_;
  const std::chrono::milliseconds interval_;
  Clock::time_point last_;
  std::vector<std::unique_ptr<Watched>> processes_;  // by area
  std::size_t found_ = 0;
  std::vector<Silent> silent_;  // by number of the stall; only if look() reports nothing
};

// Detects a run that has work on the GPU but makes no progress for a given time: no operation is issued, none finishes,
// and no call that may block begins. If in doubt, reports nothing. A run is not hanging if it computes on the host
// only, is stopped or in a debugger, or is in an unknown state.
class HangWatch {
 public:
  // `dumps`: the folder in which the driver writes GPU core dumps; empty if it writes none. A dump that grows is
  // progress.
  HangWatch(const launch::Arena& arena, double seconds, std::filesystem::path dumps);

  // Checks the run, at most once per interval(). Returns true if the run hangs.
  bool look();
  // How long to wait between two checks.
  std::chrono::milliseconds interval() const { return interval_; }
  double still_seconds() const { return std::chrono::duration<double>(still_).count(); }

 private:
  using Clock = std::chrono::steady_clock;

  const launch::Arena& arena_;
  const std::chrono::duration<double> limit_;
  const std::filesystem::path dumps_;
  const std::chrono::milliseconds interval_;
  std::uint64_t digest_ = 0, judged_ = 0;
  Clock::time_point last_;
  Clock::duration still_{};  // how long no progress was seen; excludes time in which the launcher itself was stopped
};

}  // namespace cudadiag::supervise
