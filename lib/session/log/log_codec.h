// The format of a full log: a file next to its process's area that contains every operation record.
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
#include <string>
#include <vector>

#include "session/area/area_regions.h"
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

}  // namespace cudadiag::session
