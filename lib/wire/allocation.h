// The record of one memory allocation, from its creation to its end: 64 bytes. Entries of freed allocations stay, so
// that a reader can tell a stale pointer from a wild one. If no entry is unused, a new allocation reuses the entry that
// was freed first.
//
//    0        8         16      24            32            40     44          48     49     50       52
//    +--------+---------+-------+-------------+-------------+------+-----------+------+------+--------+
//    | serial | address | bytes | ticks made  | ticks freed | site | freed site| kind | flags| thread |
//    +--------+---------+-------+-------------+-------------+------+-----------+------+------+--------+
//    52        56       60              64
//    +---------+--------+---------------+
//    | context | stream | freed stream  |
//    +---------+--------+---------------+
//
// The writer clears the serial, fills the record, then stores the serial (release). When the allocation ends, the
// writer stores the fields that describe its end, with kFreed last (release).
#pragma once

#include <cstdint>

#include "wire/bytes.h"

namespace cudadiag::wire::allocation {

enum class Kind : std::uint8_t {
  none = 0,
  device = 1,   // cuMemAlloc, cuMemAllocPitch
  managed = 2,  // cuMemAllocManaged
  ordered = 3,  // cuMemAllocAsync, cuMemAllocFromPoolAsync
  mapped = 4,   // cuMemMap into reserved addresses
  opened = 5,   // cuIpcOpenMemHandle: memory of another process
  pinned = 6,   // host memory: cuMemAllocHost, cuMemHostAlloc
  registered = 7,
};

// Returns true if the allocation takes device memory of this process.
constexpr bool takes_device_memory(Kind kind) {
  return kind == Kind::device || kind == Kind::ordered || kind == Kind::mapped;
}

enum Flag : std::uint8_t {
  kWithContext = 1,  // freed because its context was destroyed
  kReplaced = 2,     // the driver returned its address again, although the recorder saw no call that freed it
};

inline constexpr std::uint32_t kNone = 0xffffffff;

inline constexpr Field<std::uint64_t, 0> kSerial;  // 1-based number among the process's allocations
inline constexpr Field<std::uint64_t, 8> kAddress;
inline constexpr Field<std::uint64_t, 16> kBytes;
inline constexpr Field<std::uint64_t, 24> kMade;   // ticks at EXIT of the allocating call
inline constexpr Field<std::uint64_t, 32> kFreed;  // ticks at ENTER of the freeing call; 0 while it is live
inline constexpr Field<std::uint32_t, 40> kSite;
inline constexpr Field<std::uint32_t, 44> kFreedSite;  // 0 if unknown
inline constexpr Field<std::uint8_t, 48> kKind;        // Kind
inline constexpr Field<std::uint8_t, 49> kFlags;       // Flag
inline constexpr Field<std::uint16_t, 50> kThread;     // index in `threads`
inline constexpr Field<std::uint32_t, 52> kContext;    // index in `contexts`, or kNone
inline constexpr Field<std::uint32_t, 56> kStream;     // index in `streams` for stream-ordered allocations, or kNone
inline constexpr Field<std::uint32_t, 60> kFreedStream;

}  // namespace cudadiag::wire::allocation
