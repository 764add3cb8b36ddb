// Waits for the end of a rerun, and sees to it that there is one.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "launch/arena.h"
#include "launch/process.h"
#include "launch/supervised/supervised.h"
#include "launch/watcher.h"
#include "supervise/reruns/dump_progress.h"
#include "supervise/reruns/dump_request.h"
#include "supervise/reruns/rerun.h"

namespace cudadiag::supervise {

class RerunWatch {
 public:
  // `arena`: where its processes record; null in a pass without the recorder. `folder`: the pass's.
  RerunWatch(launch::Supervised& target, launch::SignalRelay& relay, launch::Arena* arena, const RerunSpec& spec,
             const std::filesystem::path& folder);

  // Why it was ended; nothing if it ended by itself or had failed.
  std::optional<session::CutShort> wait(RerunListener& listener);
  bool dump_asked() const { return request_ && request_->was_taken(); }

 private:
  using Clock = std::chrono::steady_clock;

  // Why it is to be ended now; nothing: it is not.
  std::optional<session::CutShort> reason_to_end();
  // It has failed, has had time to say so, and is not in the middle of a write.
  bool is_done();
  // The time limit, put off while the driver writes a dump.
  bool is_too_late();
  void look_at_operations();
  // The user stopped this program (Ctrl-Z), or the machine slept: the rerun's time does not count meanwhile.
  void stop_with_terminal();
  void leave_out_pause();

  launch::Supervised& target_;
  launch::SignalRelay& relay_;
  launch::Arena* arena_;
  const RerunSpec& spec_;
  std::optional<launch::Watcher> watcher_;
  std::optional<DumpRequest> request_;
  std::optional<DumpProgress> dump_;
  Clock::time_point limit_, dump_limit_;
  Clock::time_point looked_ = Clock::now();
  Clock::time_point moved_ = Clock::now();  // when it last issued an operation
  std::optional<Clock::time_point> failed_by_;
  std::uint64_t operations_ = 0;
  std::uint64_t written_ = 0;  // bytes, when it should have ended
};

}  // namespace cudadiag::supervise
