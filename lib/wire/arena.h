// The arena: memory that the launcher owns (a memfd). Every recorded process maps a part of it.
//
//   0        page      page + area_size    ...
//   +--------+---------+---------+---------+
//   | arena  | area 0  | area 1  |   ...   |   area_count areas of area_size bytes each
//   +--------+---------+---------+---------+
//
// The file is sparse: it uses memory only for what a process touched. A process claims the
// next area by adding one to kClaimed. It never returns the area. A session folder stores
// each claimed area as a file (`PID.area`). A process without a launcher writes such a
// file directly. The first kFilesBeside processes that find no area left also write one;
// each such file takes its full size on disk. Later processes are not recorded.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/area.h"
#include "wire/bytes.h"

namespace cudadiag::wire::arena {

inline constexpr std::uint64_t kMagicValue = 0x414e455241474443;  // "CDGARENA"
// The name of the memory file, and the start of a link to it in /proc/PID/fd.
inline constexpr const char* kName = "cudadiag-arena";
inline constexpr const char* kLink = "/memfd:cudadiag-arena";
inline constexpr std::size_t kHeaderSize = area::kPage;
inline constexpr std::size_t kAreaCount = 1024;
inline constexpr std::size_t kFilesBeside = 8;

inline constexpr Field<std::uint64_t, 0> kMagic;       // launcher, before the target starts
inline constexpr Field<std::uint32_t, 8> kVersion;     // launcher: area.h's kFormatVersion
inline constexpr Field<std::uint32_t, 12> kAreas;      // launcher
inline constexpr Field<std::uint64_t, 16> kAreaBytes;  // launcher
inline constexpr Field<std::uint32_t, 24> kClaimed;    // recorders, fetch_add; can exceed kAreas (then no area is left)
// A futex word. Recorders add one to it and wake it whenever an area freezes, so the launcher need not poll.
inline constexpr Field<std::uint32_t, 28> kEvents;
// Recorders count the processes that initialised CUDA but cannot be recorded, for reasons other than a missing area.
// The reason of the latest one (names/unrecorded.h) is stored first.
inline constexpr Field<std::uint32_t, 32> kUnrecorded;  // fetch_add
inline constexpr Field<std::uint32_t, 36> kUnrecordedWhy;

}  // namespace cudadiag::wire::arena
