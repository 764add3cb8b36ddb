// The arena: memory that the launcher owns (a memfd). Every recorded process maps a part of it.
//
//   0        page      page + area_size    ...
//   +--------+---------+---------+---------+
//   | arena  | area 0  | area 1  |   ...   |   area_count areas of area_size bytes each
//   +--------+---------+---------+---------+
//
// The file is sparse: it uses memory only for the pages that a process has touched. A process claims the next area by
// adding one to kClaimed. It locks the area (F_OFD_SETLK) until it ends or calls exec. Once kReusedFrom areas are
// claimed, a new process first looks for an area whose process has ended with status 0 and without failed calls, and
// takes it over. Once all areas are claimed, it also takes the area of a process whose end is unknown, and counts that
// in kForgotten. The area of a process that failed is never reused. A session folder stores each claimed area as a file
// (`PID.area`). A process without a launcher writes this file directly. If no area is left, up to kFilesBeside further
// processes do so too, and each of their files takes its full size on disk. Processes after these are not recorded.
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
// Enough areas to show what happened before a failure. Without reuse, 1,024 short processes take 525 MB.
inline constexpr std::uint32_t kKeptAreas = 16;

inline constexpr Field<std::uint64_t, 0> kMagic;       // written by the launcher before the target starts
inline constexpr Field<std::uint32_t, 8> kVersion;     // written by the launcher: area.h's kFormatVersion
inline constexpr Field<std::uint32_t, 12> kAreas;      // written by the launcher
inline constexpr Field<std::uint64_t, 16> kAreaBytes;  // written by the launcher
inline constexpr Field<std::uint32_t, 24> kClaimed;    // incremented by recorders; can exceed kAreas
// A futex word. A recorder increments it and wakes its waiters when an area freezes, so the launcher need not poll.
inline constexpr Field<std::uint32_t, 28> kEvents;
// The number of processes that initialised CUDA but could not be recorded. Processes that found no area left do not
// count. Before a recorder increments this, it stores its reason in kUnrecordedWhy (names/unrecorded.h).
inline constexpr Field<std::uint32_t, 32> kUnrecorded;  // incremented with fetch_add
inline constexpr Field<std::uint32_t, 36> kUnrecordedWhy;
inline constexpr Field<std::uint32_t, 40> kReusedFrom;  // written by the launcher; 0: areas are never reused
inline constexpr Field<std::uint32_t, 44> kForgotten;   // incremented by recorders

// In the header of an area: kLocked if the process holds the lock of its area, which may be reused once the lock is
// free. kOfRank if the process is one rank of a job.
inline constexpr std::uint32_t kLocked = 1, kOfRank = 2;
inline constexpr Field<std::uint32_t, 1016> kHeld;
static_assert(kHeld.offset >= area::kEarlierRemoved.end && kHeld.end <= area::kRegionTable);

}  // namespace cudadiag::wire::arena
