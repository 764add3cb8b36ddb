// Keeps what a rerun prints, up to 16 MiB: the first 15 and the last. The output passes through a pipe, because no limit
// on the size of a file would stop at this file: RLIMIT_FSIZE also applies to the program's own files, and its signal
// kills. For the program, a pipe differs from a file in these ways:
//   It cannot seek or truncate its output.
//   If it makes its output nonblocking, a write can fail with EAGAIN.
//   Opening /dev/stdout again does not start from the beginning.
// Neither is a terminal, so the program buffers and colours its output as before.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <thread>

#include "base/file_descriptor.h"

namespace cudadiag::supervise {

class RerunOutput {
 public:
  static constexpr std::uint64_t kFirst = 15u << 20, kLast = 1u << 20;  // bytes

  // Copies to `file` what is written to pipe(), on a separate thread. The rerun therefore never waits for this program's
  // other work.
  explicit RerunOutput(base::FileDescriptor file);
  ~RerunOutput();
  RerunOutput(const RerunOutput&) = delete;
  RerunOutput& operator=(const RerunOutput&) = delete;

  // Returns the end of the pipe to which the rerun writes. It is invalid if there is no pipe or no thread.
  const base::FileDescriptor& pipe() const { return writer_; }
  // Call this once the rerun has started, so that only the rerun keeps the pipe open.
  void close_pipe() { writer_ = base::FileDescriptor(); }
  // Stores everything that has been written. Call this once the rerun has ended. Processes that could not be killed may
  // still have the pipe open, so this does not wait for its end.
  void finish();

 private:
  void copy();
  void take(std::string_view piece);
  void store_end();
  void write(std::string_view text);

  base::FileDescriptor file_, reader_, writer_, finishing_;
  std::uint64_t taken_ = 0;  // bytes read so far
  std::string last_;         // the latest bytes after the first kFirst, at least kLast of them
  std::thread thread_;       // uses all other members except writer_
};

}  // namespace cudadiag::supervise
