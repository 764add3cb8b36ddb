// Waits until a rerun ends, and keeps what it prints. Terminates it after its failure, at its time limit, or if it
// makes no progress.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/files.h"
#include "launch/arena.h"
#include "launch/signals.h"
#include "launch/supervised_rerun.h"
#include "supervise/reruns/gpu_dumps.h"
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
  // Returns whether the rerun has delivered everything that its pass looks for. It is then isolated, so no file that it
  // writes is kept, and it need not run on. Unless the pass looks for an origin, call this only after a failure.
  bool has_told_all() const;
  // Returns whether the rerun has failed, has had time to report that, and is not busy writing.
  bool is_done();
  void look_at_operations();
  // Extends the time limit while the driver writes a dump.
  void look_at_dump();
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
  Clock::time_point dumped_{};              // when the driver last printed progress of a dump
  std::optional<Clock::time_point> failed_by_;
  std::uint64_t operations_ = 0;
  std::uint64_t written_ = 0;  // how many bytes the rerun had written at the last check after its failure
};

// Keeps what a rerun prints, up to 16 MiB: the first 15 and the last. The output passes through a pipe, because no
// limit on the size of a file would stop at this file: RLIMIT_FSIZE also applies to the program's own files, and its
// signal kills. For the program, a pipe differs from a file in these ways:
//   It cannot seek or truncate its output.
//   If it makes its output nonblocking, a write can fail with EAGAIN.
//   Opening /dev/stdout again does not start from the beginning.
// Neither is a terminal, so the program buffers and colours its output as before.
class RerunOutput {
 public:
  static constexpr std::uint64_t kFirst = 15u << 20, kLast = 1u << 20;  // bytes
  static constexpr std::chrono::seconds kUnread{30};

  // Copies to `file` what is written to pipe(), on a separate thread. The rerun therefore never waits for this
  // program's other work.
  explicit RerunOutput(base::FileDescriptor file) : RerunOutput(std::move(file), false) {}
  // Copies all of it to this program's descriptor `number`, which the rerun itself must not have: with it, the rerun
  // could truncate the user's log, or change the modes of the terminal. Once the rerun has ended, its output waits at
  // most `unread` for a reader.
  explicit RerunOutput(int number, std::chrono::milliseconds unread = kUnread);
  ~RerunOutput();
  RerunOutput(const RerunOutput&) = delete;
  RerunOutput& operator=(const RerunOutput&) = delete;

  // The rerun writes to this end of the pipe. The descriptor is invalid if the pipe or the thread could not be created.
  const base::FileDescriptor& pipe() const { return writer_; }
  // Call this once the rerun has started, so that only the rerun keeps the pipe open.
  void close_pipe() { writer_ = base::FileDescriptor(); }
  // Stores everything that has been written. Call this once the rerun has ended. Processes that could not be killed may
  // still have the pipe open, so this does not wait for its end.
  void finish();

 private:
  RerunOutput(base::FileDescriptor file, bool shown, std::chrono::milliseconds unread = kUnread);
  void copy();
  void take(std::string_view piece);
  void store_end();
  void write(std::string_view text);
  void show(std::string_view text);

  base::FileDescriptor file_, reader_, writer_, finishing_;
  std::chrono::milliseconds unread_;
  bool shown_;               // all of the output goes to a descriptor whose reader may not read
  std::uint64_t taken_ = 0;  // bytes read so far
  std::string last_;         // the latest bytes after the first kFirst, at least kLast of them
  std::thread thread_;       // uses all other members except writer_
};

}  // namespace cudadiag::supervise
