// The parameters of each thread's latest kernel launches, in slots of 192 bytes. A launch uses slot serial % kSlots of
// its thread, where `serial` is that of its record (operation.h). Only the first kThreads threads have slots.
//
//    0        4       6       8        12     16                     192
//    +--------+-------+-------+--------+------+----------------------+
//    | serial | bytes | flags | layout | zero | the first parameters |
//    +--------+-------+-------+--------+------+----------------------+
//
// bytes: how many bytes of the parameters the slot has. layout: the index of the kernel's entry in `layouts`. The
// writer clears the serial, fills the slot, then stores the serial (release).
//
// `layouts` is an array of u16. A kernel's entry consists of the number of its parameters, then the offset and size of
// each.
//
// `copied` has the contents of small copies from host memory: kernels may read addresses and indices from them. The
// destination selects the slot of 4,096 bytes, so a table that is filled again replaces itself. Copies that contain what
// looks like an address use the first half of the slots, so that others never replace them.
//
//    0        8        12      16                   4,096
//    +--------+--------+-------+--------------------+
//    | serial | thread | bytes | the first contents |
//    +--------+--------+-------+--------------------+
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/bytes.h"

namespace cudadiag::wire::launch_parameters {

inline constexpr std::size_t kThreads = 64;
inline constexpr std::size_t kSlots = 512;  // per thread
inline constexpr std::size_t kSlotSize = 192;
inline constexpr std::size_t kLayouts = 1u << 19;  // number of elements of `layouts`

inline constexpr Field<std::uint32_t, 0> kSerial;  // lower half of the record's serial
inline constexpr Field<std::uint16_t, 4> kBytes;
inline constexpr Field<std::uint16_t, 6> kFlags;  // intern.h's ArgumentFlag
inline constexpr Field<std::uint32_t, 8> kLayout;
inline constexpr std::size_t kValues = 16;
inline constexpr std::size_t kMostBytes = kSlotSize - kValues;

namespace copied {

inline constexpr std::size_t kSlots = 128;
inline constexpr std::size_t kSlotSize = 4096;

inline constexpr Field<std::uint64_t, 0> kSerial;
inline constexpr Field<std::uint32_t, 8> kThread;
inline constexpr Field<std::uint32_t, 12> kBytes;
inline constexpr std::size_t kContents = 16;
inline constexpr std::size_t kMostBytes = kSlotSize - kContents;

}  // namespace copied

}  // namespace cudadiag::wire::launch_parameters
