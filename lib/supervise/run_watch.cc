#include "supervise/run_watch.h"

#include <signal.h>

#include <algorithm>

#include "supervise/recorded_processes.h"

namespace cudadiag::supervise {

namespace {

using Clock = std::chrono::steady_clock;

// A process that is stuck in the GPU driver does not die until the driver returns, so the wait has a limit.
constexpr auto kUnkillable = std::chrono::seconds(10);

// Sends SIGTERM to the target and to all processes that it started, waits up to `grace`, and then kills those that
// remain. Returns false if a process is stuck in the GPU driver and was left running.
bool end_target(launch::Target& target, launch::SignalRelay& relay, std::chrono::milliseconds grace) {
  // Waits for all processes, because children of the target may outlive it.
  const auto anybody_after = [&](int signal) { return target.signal_all(signal) || !target.reap(); };
  const auto pause = [&] {
    relay.wait(50);
    relay.take_signals();
    target.reap();
  };
  target.signal_all(SIGTERM);
  constexpr int kNone = 0;
  for (const auto patience = Clock::now() + grace; anybody_after(kNone) && Clock::now() < patience;) pause();
  for (const auto limit = Clock::now() + kUnkillable; anybody_after(SIGKILL) && Clock::now() < limit;) pause();
  return !anybody_after(kNone);
}

using std::chrono::milliseconds;

// How long the target may print its own messages before the report appears.
constexpr auto kMessageTime = std::chrono::seconds(1);
// How long the other processes may take to end after the target, before they are reported as still running.
constexpr auto kAftermath = milliseconds(500);
// How long a hanging program may take to end after SIGTERM.
constexpr auto kGrace = std::chrono::seconds(2);
constexpr milliseconds kWakeInterval{1000};

bool asks_to_end(int signal) { return signal == SIGINT || signal == SIGQUIT || signal == SIGTERM || signal == SIGHUP; }

}  // namespace

void RunWatch::hand_on_signals(RunListener* listener) {
  for (const launch::ReceivedSignal& signal : relay_.take_signals()) {
    // The target sent the signal to its whole process group, which includes this process. Relaying the signal would
    // send it twice.
    if (target_.has_started(signal.sender)) continue;
    if (listener != nullptr && asks_to_end(signal.number)) {
      if (onlookers_.stalls != nullptr) onlookers_.stalls->interrupted();
      listener->interrupts();
    }
    target_.forward(signal.number);
    sent_.insert(signal.number);
  }
}

RunWatch::Freeze RunWatch::report_freeze(RunListener& listener, milliseconds& patience) {
  if (watcher_ && watcher_->take_freeze() && !report_at_) report_at_ = Clock::now() + kMessageTime;
  if (!report_at_) return Freeze::none;
  const auto left = std::chrono::duration_cast<milliseconds>(*report_at_ - Clock::now());
  if (left.count() > 0) {
    patience = std::min(patience, left);
    return Freeze::none;
  }
  report_at_.reset();
  if (onlookers_.full_log != nullptr) onlookers_.full_log->catch_up();
  const AfterFreeze next = listener.froze();
  if (next == AfterFreeze::not_yet) report_at_ = Clock::now() + kMessageTime;
  // The target may have ended while the report was made.
  if (next != AfterFreeze::end_target || target_.reap()) return Freeze::reported;
  listener.ends_frozen();
  end(listener);
  return Freeze::ended;
}

void RunWatch::end(RunListener& listener) {
  if (!end_target(target_, relay_, kGrace)) listener.cannot_end();
  sent_ = {SIGTERM, SIGKILL};
}

bool RunWatch::end_hanging(RunListener& listener) {
  if (!hang_ || !hang_->look()) return false;
  if (onlookers_.full_log != nullptr) onlookers_.full_log->catch_up();
  listener.hangs(hang_->still_seconds());
  end(listener);
  return true;
}

void RunWatch::look_for_stalls(RunListener& listener, milliseconds& patience) {
  if (onlookers_.stalls == nullptr) return;
  patience = std::min(patience, onlookers_.stalls->interval());
  const StallNews news = onlookers_.stalls->look();
  if (news.empty()) return;
  if (onlookers_.full_log != nullptr) onlookers_.full_log->catch_up();
  listener.stalls(news);
}

void RunWatch::look_for_unreached(RunListener& listener, milliseconds& patience) {
  if (onlookers_.unreached == nullptr) return;
  for (const std::string& what : onlookers_.unreached->look()) listener.unreached(what);
  patience = std::min(patience, onlookers_.unreached->interval());
}

void RunWatch::end_racing(RunListener& listener) {
  RaceWatch* races = onlookers_.stop_on_race;
  if (races == nullptr || !races->found_any() || target_.reap()) return;
  listener.races();
  target_.signal_all(SIGTERM);
  sent_.insert(SIGTERM);
  onlookers_.stop_on_race = nullptr;
}

void RunWatch::wait(const Onlookers& onlookers, RunListener& listener) {
  onlookers_ = onlookers;
  if (arena_ != nullptr) {
    if (onlookers.hang_after) hang_.emplace(*arena_, *onlookers.hang_after, onlookers.dumps);
    watcher_.emplace(*arena_, relay_);
  }
  while (!target_.reap()) {
    milliseconds patience = kWakeInterval;
    const Freeze freeze = report_freeze(listener, patience);
    if (freeze == Freeze::ended) return;
    if (freeze == Freeze::reported) continue;
    if (hang_) patience = std::min(patience, hang_->interval());
    look_for_stalls(listener, patience);
    look_for_unreached(listener, patience);
    if (end_hanging(listener)) return;
    if (const auto turn = listener.turns()) patience = std::min(patience, *turn);
    relay_.wait(static_cast<int>(patience.count()));
    hand_on_signals(&listener);
    end_racing(listener);
  }
  // A terminal sends its signals to the whole group.
  if (const auto signal = target_.end().signal; signal && relay_.interrupted() && asks_to_end(*signal)) {
    sent_.insert(*signal);
  }
}

void RunWatch::wait_alone() {
  while (!target_.reap()) {
    relay_.wait(static_cast<int>(kWakeInterval.count()));
    hand_on_signals(nullptr);
  }
}

std::vector<std::uint32_t> RunWatch::wait_for_rest() {
  if (arena_ == nullptr) return {};
  const auto patience = Clock::now() + kAftermath;
  // A process that has not used CUDA yet may be about to.
  while (Clock::now() <= patience && (!recording_processes(*arena_).empty() || !rest().empty())) {
    relay_.wait(50);
    relay_.take_signals();
    target_.reap();
  }
  arena_->close_to_others();
  return recording_processes(*arena_);
}

std::vector<std::uint32_t> RunWatch::rest() const {
  if (target_.seen_processes().empty()) return {};
  const std::vector<pid_t> processes = target_.processes();
  return {processes.begin(), processes.end()};
}

}  // namespace cudadiag::supervise
