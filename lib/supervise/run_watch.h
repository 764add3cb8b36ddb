// Waits until the first run ends. Meanwhile, calls the observers of the run, and relays signals to the target.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launch/arena.h"
#include "launch/signals.h"
#include "launch/spawn.h"
#include "supervise/full_log_collector.h"
#include "supervise/hang_watch.h"
#include "supervise/race_watch.h"
#include "supervise/unrecorded_watch.h"

namespace cudadiag::supervise {

// `not_yet`: ask again in a second.
enum class AfterFreeze { go_on, end_target, not_yet };

// Events while the target runs. All calls are on the thread that waits.
class RunListener {
 public:
  RunListener() = default;
  virtual ~RunListener() = default;
  RunListener(const RunListener&) = delete;
  RunListener& operator=(const RunListener&) = delete;

  // The recording of a process froze, and the process then had a second for its own messages.
  virtual AfterFreeze froze() = 0;
  // The GPU made no progress for `seconds`, and the target is about to be terminated.
  virtual void hangs(double seconds) = 0;
  // Some operations hang, or have finished after they hung. The target continues.
  virtual void stalls(const StallNews& news) = 0;
  // A process uses a GPU but is not recorded. `what` is a sentence with the reason and the remedy.
  virtual void unreached(const std::string& what) = 0;
  // A signal to terminate the target has arrived, and is about to be relayed.
  virtual void interrupts() = 0;
  // Even SIGKILL did not terminate the target, because it is stuck in the GPU driver. It keeps running.
  virtual void cannot_end() = 0;
  // froze() returned `end_target`, and the target is about to be terminated. If it has ended by itself meanwhile, this
  // is not called.
  virtual void ends_frozen() = 0;
  // Two operations race, and the target is about to be terminated.
  virtual void races() = 0;
  // Called whenever the wait wakes up. Returns the longest time until the next call; nullopt for an unlimited time.
  virtual std::optional<std::chrono::milliseconds> turns() = 0;
};

// The observers of a run. All are optional.
struct Onlookers {
  std::optional<double> hang_after;  // seconds
  std::filesystem::path dumps;       // see HangWatch
  FullLogCollector* full_log = nullptr;
  RaceWatch* stop_on_race = nullptr;  // ends the target at the first race
  StallWatch* stalls = nullptr;
  UnrecordedWatch* unreached = nullptr;
};

class RunWatch {
 public:
  // The target records to `arena`, which is null if nothing is recorded.
  RunWatch(launch::Target& target, launch::SignalRelay& relay, launch::Arena* arena)
      : target_(target), relay_(relay), arena_(arena) {}

  // Waits until the target has ended.
  void wait(const Onlookers& onlookers, RunListener& listener);
  // Waits without observers. For use after wait() threw an exception.
  void wait_alone();
  // Gives the target's remaining processes a moment to end, and returns the pids of those that keep running.
  std::vector<std::uint32_t> wait_for_rest();

  // Returns the target's remaining processes, whether they record or not. Call this after the target has ended.
  std::vector<std::uint32_t> rest() const;

  // The signals that this object or the terminal sent to the target.
  const std::set<int>& sent() const { return sent_; }

 private:
  using Clock = std::chrono::steady_clock;

  // `listener` may be null.
  void hand_on_signals(RunListener* listener);
  enum class Freeze {
    none,  // no freeze, or too early to report it; reduces `patience` to the time left
    reported,
    ended,  // reported, and the target was ended
  };
  Freeze report_freeze(RunListener& listener, std::chrono::milliseconds& patience);
  void end(RunListener& listener);
  // Returns true if the target hung and was terminated.
  bool end_hanging(RunListener& listener);
  // Reduces `patience` to the time until the next check, if that time is shorter.
  void look_for_stalls(RunListener& listener, std::chrono::milliseconds& patience);
  void look_for_unreached(RunListener& listener, std::chrono::milliseconds& patience);
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
