// The full log: a file next to its process's area that contains every operation record, its writer and its reader.
//
//   header  24 bytes  magic (u64), version (u32), pid (u32), start of the process as in its area (u64)
//   items   each begins with a number, its key:
//     0     1, count, ticks     `count` records are missing here, all from before the first one with these ticks
//     0     2, n, n serials     for thread i, everything up to this serial has been written or reported as missing
//     else  ticks, mask, …      a record. Key: its site * 2; without a site, its kind * 2 + 1. Ticks: their difference
//                               from the last record's. Mask: which words differ from the expected ones, followed by
//                               the differences
//
// Numbers have seven bits per byte, lowest first; differences have their sign in the lowest bit. The expected record is
// the last one with this key, with the next serial of its thread and the next ordinals. For most launches, only the
// time differs from what is expected.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "session/area_reader.h"
#include "session/ring_follower.h"
#include "session/session.h"
#include "wire/area.h"
#include "wire/operation.h"

namespace cudadiag::session {

inline constexpr std::uint64_t kLogMagic = 0x31474f4c41474443;  // "CDGALOG1"
inline constexpr std::uint32_t kLogVersion = 1;
inline constexpr std::size_t kLogHeader = 24;
namespace log_header {
inline constexpr wire::Field<std::uint64_t, 0> kMagic;
inline constexpr wire::Field<std::uint32_t, 8> kVersion;
inline constexpr wire::Field<std::uint32_t, 12> kPid;
inline constexpr wire::Field<std::uint64_t, 16> kStart;
}  // namespace log_header

inline constexpr std::size_t kMostLogThreads = 256;
inline constexpr std::size_t kMostItemBytes = 10 * (kMostLogThreads + 3);

enum class LogNote : std::uint8_t { lost = 1, through = 2 };

using OperationCopy = RecordCopy<wire::area::kOperationSize>;

// The state that both writer and reader derive from the records so far, in order to predict the next record.
class LogModel {
 public:
  // Encodes a record, which must not be a race record, and appends it to `out`.
  void encode(const std::byte* record, std::string& out);
  // Decodes the record with this key from the bytes at `from`. At least kMostItemBytes must be readable there. Returns
  // the end of the decoded bytes; null if they are invalid.
  const std::uint8_t* decode(std::uint64_t key, const std::uint8_t* from);
  // Returns the last record that was encoded or decoded.
  const OperationCopy& record() const { return copy_; }
  std::uint64_t serial() const { return serial_; }

 private:
  static constexpr std::size_t kWords = wire::area::kOperationSize / 4;
  using Words = std::array<std::uint32_t, kWords>;

  Words& last(std::uint64_t key);
  void expect_counts(const Words& last, Words& words) const;
  void remember(Words& last, const Words& words);

  std::vector<Words> last_;              // the last record of each key
  std::vector<std::uint32_t> ordinals_;  // the last ordinal of each stream
  std::array<std::uint64_t, kMostLogThreads> serials_{};
  std::uint64_t ticks_ = 0, serial_ = 0;
  OperationCopy copy_;
};

void append_number(std::string& out, std::uint64_t value);

// Reads a number and moves `from` past it. Ten bytes must be readable. Returns false if the number has more than ten
// bytes.
inline bool take_number(const std::uint8_t*& from, std::uint64_t& value) {
  value = *from & 0x7f;
  if (*from++ < 0x80) return true;
  for (unsigned shift = 7; shift < 64; shift += 7) {
    value |= std::uint64_t{*from & 0x7fu} << shift;
    if (*from++ < 0x80) return true;
  }
  return false;
}

// Reads a full log record by record. Treats every byte as hostile. The file may grow or shrink while it
// is read.
struct LoggedRecord {
  OperationCopy copy;
  std::uint64_t serial = 0;

  template <typename T, std::size_t Offset>
  T load(wire::Field<T, Offset> field) const {
    return wire::load(copy.data(), field);
  }
};

class LogReader {
 public:
  enum class Item {
    record,  // read it with record() and serial()
    lost,    // lost_count() records are missing, all of them from before lost_until()
    end,     // the end of the file, or of its valid part
  };

  // Returns nullopt if the file is not a full log of this version, or cannot be read.
  static std::optional<LogReader> open(const std::filesystem::path& file);
  static std::optional<LogReader> open(base::FileDescriptor file);

  std::uint32_t pid() const { return pid_; }
  std::uint64_t start() const { return start_; }

  // After the end, each call returns `end` again.
  Item next();
  const std::byte* record() const { return model_.record().data(); }
  std::uint64_t serial() const { return model_.serial(); }
  LoggedRecord current() const { return {model_.record(), model_.serial()}; }
  std::uint64_t lost_count() const { return lost_count_; }
  std::uint64_t lost_until() const { return lost_until_; }
  // Returns, for each thread, the serial up to which every record is in the log or counted as lost.
  const std::vector<std::uint64_t>& through() const { return through_; }

  void rewind();

 private:
  explicit LogReader(base::FileDescriptor file) : file_(std::move(file)) {}
  void refill();
  bool keep(const std::uint8_t* end);
  // Returns false if the item is invalid. Sets `item` if the caller should receive it.
  bool read_note(const std::uint8_t* from, std::optional<Item>& item);

  base::FileDescriptor file_;
  std::uint32_t pid_ = 0;
  std::uint64_t start_ = 0;
  std::uint64_t offset_ = 0;  // file offset of the end of the buffered bytes
  // The bytes [at_, filled_) have not been read yet. At least kMostItemBytes zeros follow them.
  std::vector<std::uint8_t> buffer_;
  std::size_t at_ = 0, filled_ = 0;
  bool whole_ = false;  // the end of the file was reached
  LogModel model_;
  std::uint64_t lost_count_ = 0, lost_until_ = 0;
  std::vector<std::uint64_t> through_;
  bool ended_ = false;
};

// Writes the full log of one process: encodes the records that a RingFollower hands out. Each process has its own file.
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
  // Returns why the file ends early; empty if it does not.
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

// Adds operations from a full log to a process's record (see full_log_join.cc).
void join_log(LogReader& log, ProcessRecord& record);
// Finds the logs of these processes in a pass folder, and adds them to the processes' records.
void attach_logs(const std::filesystem::path& folder, std::vector<Process>& processes);

}  // namespace cudadiag::session
