// The arena: memory that the launcher holds (a memfd) and every recorded process maps a part of.
//
//   0        page      page + area_size    ...
//   +--------+---------+---------+---------+
//   | arena  | area 0  | area 1  |   ...   |   area_count areas of area_size bytes each
//   +--------+---------+---------+---------+
//
// The file is sparse: only what a process touched takes memory. A process claims the next area by
// adding one to kClaimed; areas are not given back. A session folder stores each claimed area as a
// file of its own (`PID.area`), and a process without a launcher writes such a file directly. So do
// the kFilesBeside that find no area left: a file takes all of its size on disk, and the processes
// after them are not recorded.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/area.h"
#include "wire/bytes.h"

namespace cudadiag::wire::arena {

inline constexpr std::uint64_t kMagicValue = 0x414e455241474443;  // "CDGARENA"
// The name of the memory file, and how a link in /proc/PID/fd to it begins.
inline constexpr const char* kName = "cudadiag-arena";
inline constexpr const char* kLink = "/memfd:cudadiag-arena";
inline constexpr std::size_t kHeaderSize = area::kPage;
inline constexpr std::size_t kAreaCount = 1024;
inline constexpr std::size_t kFilesBeside = 8;

inline constexpr Field<std::uint64_t, 0> kMagic;       // launcher, before the target starts
inline constexpr Field<std::uint32_t, 8> kVersion;     // launcher: area.h's kFormatVersion
inline constexpr Field<std::uint32_t, 12> kAreas;      // launcher
inline constexpr Field<std::uint64_t, 16> kAreaBytes;  // launcher
inline constexpr Field<std::uint32_t, 24> kClaimed;    // recorders, fetch_add; may pass kAreas (then none is left)
// A futex word: recorders add one and wake it whenever an area freezes, so the launcher need not poll.
inline constexpr Field<std::uint32_t, 28> kEvents;
// Recorders: the processes that initialised CUDA and cannot be recorded, for another reason than the lack of an area;
// and why the latest of them cannot (names/unrecorded.h), which is stored first.
inline constexpr Field<std::uint32_t, 32> kUnrecorded;  // fetch_add
inline constexpr Field<std::uint32_t, 36> kUnrecordedWhy;

}  // namespace cudadiag::wire::arena
