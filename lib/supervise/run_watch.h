// Waits for the end of the first run, with everything that looks on meanwhile. The target's signals are handed on to it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "launch/arena.h"
#include "launch/process.h"
#include "launch/watcher.h"
#include "supervise/full_log.h"
#include "supervise/hang_watch.h"
#include "supervise/race_watch.h"
#include "supervise/stall_watch.h"

namespace cudadiag::supervise {

// Events while the target runs. The calls come on the thread that waits.
class RunListener {
 public:
  RunListener() = default;
  virtual ~RunListener() = default;
  RunListener(const RunListener&) = delete;
  RunListener& operator=(const RunListener&) = delete;

  // A process froze, and has had a second for its own messages. True: the target is to be ended.
  virtual bool froze() = 0;
  // The GPU has made no progress for that many seconds, and the target is about to be ended.
  virtual void hangs(double seconds) = 0;
  // Operations do not end, or have ended after all; the target continues.
  virtual void stalls(const StallNews& news) = 0;
  // Somebody asks the target to end by a signal, which it is about to be sent.
  virtual void interrupts() = 0;
  // Not even SIGKILL ends the target: it is stuck inside the GPU's driver, and is left running.
  virtual void cannot_end() = 0;
  // Two operations race, and the target is about to be ended.
  virtual void races() = 0;
  // Every time the waiting goes round. The time after which it must do so again, if there is one.
  virtual std::optional<std::chrono::milliseconds> turns() = 0;
};

// Each may be missing.
struct Onlookers {
  std::optional<double> hang_after;  // seconds
  FullLog* full_log = nullptr;
  RaceWatch* stop_on_race = nullptr;  // the target is ended at the first race
  StallWatch* stalls = nullptr;
};

class RunWatch {
 public:
  // `arena`: where the target records; null: nowhere.
  RunWatch(launch::Target& target, launch::SignalRelay& relay, launch::Arena* arena)
      : target_(target), relay_(relay), arena_(arena) {}

  // Until the target has ended.
  void wait(const Onlookers& onlookers, RunListener& listener);
  // The same without onlookers, after an exception of wait().
  void wait_alone();
  // Processes that outlive the target, after a moment in which they may end too.
  std::vector<std::uint32_t> wait_for_rest();

  // The signals that the target was sent from here.
  const std::set<int>& sent() const { return sent_; }

 private:
  using Clock = std::chrono::steady_clock;

  // Null: nobody is told.
  void hand_on_signals(RunListener* listener);
  enum class Freeze {
    none,  // or it is not yet time, and `patience` is at most what is left
    reported,
    ended,  // reported, and so was the target
  };
  Freeze report_freeze(RunListener& listener, std::chrono::milliseconds& patience);
  void end(RunListener& listener);
  // True: it hung, and was ended.
  bool end_hanging(RunListener& listener);
  // `patience` is at most the time until the next look.
  void look_for_stalls(RunListener& listener, std::chrono::milliseconds& patience);
  void end_racing(RunListener& listener);

  launch::Target& target_;
  launch::SignalRelay& relay_;
  launch::Arena* arena_;
  Onlookers onlookers_;
  std::optional<HangWatch> hang_;
  std::optional<launch::Watcher> watcher_;
  std::optional<Clock::time_point> report_at_;
  std::set<int> sent_;
};

}  // namespace cudadiag::supervise
