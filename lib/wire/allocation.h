// A piece of memory that the driver handed out, and its end: 64 bytes. Freed ones stay, so that a pointer into one can
// be told from a wild one, until their entry is needed again, oldest first.
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
// The serial is cleared, the record filled, the serial stored last (release). What ended it is stored later; its ticks
// last (release).
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
  opened = 5,   // cuIpcOpenMemHandle: another process's
  pinned = 6,   // host memory: cuMemAllocHost, cuMemHostAlloc
  registered = 7,
};

// Whether it takes memory of the device on this process's account.
constexpr bool takes_device_memory(Kind kind) {
  return kind == Kind::device || kind == Kind::ordered || kind == Kind::mapped;
}

enum Flag : std::uint8_t {
  kWithContext = 1,  // it ended with its context
  kReplaced = 2,     // its address was handed out again before its end was seen: who ended it is not known
};

inline constexpr std::uint32_t kNone = 0xffffffff;

inline constexpr Field<std::uint64_t, 0> kSerial;  // 1-based count of the process's allocations
inline constexpr Field<std::uint64_t, 8> kAddress;
inline constexpr Field<std::uint64_t, 16> kBytes;
inline constexpr Field<std::uint64_t, 24> kMade;   // ticks at EXIT of the call
inline constexpr Field<std::uint64_t, 32> kFreed;  // ticks at ENTER of the call that freed it; 0: it lives
inline constexpr Field<std::uint32_t, 40> kSite;
inline constexpr Field<std::uint32_t, 44> kFreedSite;  // 0: not known
inline constexpr Field<std::uint8_t, 48> kKind;        // Kind
inline constexpr Field<std::uint8_t, 49> kFlags;       // Flag
inline constexpr Field<std::uint16_t, 50> kThread;     // index in `threads`
inline constexpr Field<std::uint32_t, 52> kContext;    // index in `contexts`; kNone
inline constexpr Field<std::uint32_t, 56> kStream;     // index in `streams`, of stream-ordered ones; kNone
inline constexpr Field<std::uint32_t, 60> kFreedStream;

}  // namespace cudadiag::wire::allocation
