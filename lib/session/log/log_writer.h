// Writes the full log of one process: encodes the records that a RingFollower hands out. Each process has its own file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/file_descriptor.h"
#include "session/area/ring_follower.h"
#include "session/log/log_codec.h"
#include "session/session.h"
#include "wire/area.h"

namespace cudadiag::session {

class LogWriter : public RingReader {
 public:
  // The largest size of a log, enough for about a hundred million operations.
  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
  // The disk space to leave free for the process's area and the program's own files.
  static constexpr std::uint64_t kLeftFree = wire::area::kAreaSize;

  // Creates `folder`/PID.log, or PID-2.log and so on. `start` is the time when the process started
  // (wire::area::kStartRealtime).
  static base::Result<LogWriter> create(const std::filesystem::path& folder, std::uint32_t pid, std::uint64_t start);

  void record(const std::byte* record) override;
  void lost(std::uint64_t count, std::uint64_t until) override;
  // Writes all records received so far to the file.
  void flush();
  // Like flush(), but also notes in the log that every record up to these serials was written or counted as lost.
  void flush_through(const std::vector<std::uint64_t>& serials);

  std::uint64_t lost() const { return lost_; }
  // Returns why the file ends early.
  const base::Error& failure() const { return failure_; }
  // Removes the file to make room for the rest of the session. Later calls write nothing. Returns the message for the
  // user.
  base::Error give_up();

 private:
  LogWriter(std::filesystem::path path, std::uint32_t pid, base::FileDescriptor file)
      : path_(std::move(path)), pid_(pid), file_(std::move(file)) {}
  void end_early(const std::string& why, std::string hint);

  std::filesystem::path path_;
  std::uint32_t pid_;
  base::FileDescriptor file_;
  LogModel model_;
  std::string waiting_;
  std::uint64_t written_ = 0, lost_ = 0;
  base::Error failure_;
};

}  // namespace cudadiag::session
