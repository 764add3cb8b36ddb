// Waits until a rerun ends. Terminates it after its failure, at its time limit, or if it makes no progress.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "launch/arena.h"
#include "launch/process.h"
#include "launch/supervised/supervised.h"
#include "supervise/reruns/dump_request.h"
#include "supervise/reruns/rerun.h"

namespace cudadiag::supervise {

class RerunWatch {
 public:
  // The rerun's processes record to `arena`, which is null in a pass without the recorder. `folder` is the pass folder.
  RerunWatch(launch::Supervised& target, launch::SignalRelay& relay, launch::Arena* arena, const RerunSpec& spec,
             const std::filesystem::path& folder);

  // Returns why the rerun was terminated early; nullopt if it ended by itself or after its failure.
  std::optional<session::CutShort> wait(RerunListener& listener);
  bool dump_asked() const { return request_ && request_->was_taken(); }

 private:
  using Clock = std::chrono::steady_clock;

  // Returns why the rerun must be terminated now; nullopt if it may continue.
  std::optional<session::CutShort> reason_to_end();
  // Returns how long to wait for processes that were killed for this reason.
  std::chrono::milliseconds patience_after(const std::optional<session::CutShort>& reason) const;
  // Returns whether the rerun, which has just failed, has told all that its pass can find. Nobody sees what it writes.
  bool has_told_all() const;
  // Returns whether the rerun has failed, has had time to report that, and is not busy writing.
  bool is_done();
  // Returns whether the time limit is reached. The limit is extended while the driver writes a dump.
  bool is_too_late();
  void look_at_operations();
  // Returns the size of the GPU core dump so far.
  std::uint64_t dump_bytes() const;
  // These functions extend the limits by the time in which this program is stopped (Ctrl-Z), or the machine is
  // suspended.
  void stop_with_terminal();
  void leave_out_pause();

  launch::Supervised& target_;
  launch::SignalRelay& relay_;
  launch::Arena* arena_;
  const RerunSpec& spec_;
  const std::filesystem::path folder_;
  std::optional<launch::Watcher> watcher_;
  std::optional<DumpRequest> request_;
  std::optional<DumpProgress> dump_;
  Clock::time_point limit_, dump_limit_;
  Clock::time_point looked_ = Clock::now();
  Clock::time_point moved_ = Clock::now();  // when the rerun last issued an operation
  std::optional<Clock::time_point> failed_by_;
  std::uint64_t operations_ = 0;
  std::uint64_t written_ = 0;  // how many bytes the rerun had written at the last check after its failure
};

}  // namespace cudadiag::supervise
