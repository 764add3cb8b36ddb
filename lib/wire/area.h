// One process's area: what `libcudadiag_record.so` writes and `lib/session` reads. This file defines the area's header
// and the place of each region. The records of a region are defined in the header file named below.
//
//   header   8 KiB      identity, clock, counters, the error that ended the recording
//   threads  kThreads   x 128 B    tables.h
//   contexts kContexts  x 64 B     tables.h
//   streams  kStreams   x 128 B    tables.h
//   markers  kStreams   x 32 B     tables.h; 128 per page, registered with the driver, written by the GPU
//   frozen   kStreams   x  8 B     tables.h; each stream's marker and kHostCompleted at the freeze
//   errors   kErrors    x 152 B    error.h
//   sites    kSites     x  8 B     number of operations issued at each site in the whole run; see site_place()
//   held     kStreams   x kHeldPerStream x 64 B    unfinished operations moved out of their ring
//   rings    kThreads   x kRingRecords x 64 B      operation.h
//   graph_words kGraphWords x 4 B      graph nodes, in a rerun; registered with the driver, written by the GPU
//   allocations kAllocations x 64 B    tables.h
//   layouts     512 Ki x 2 B           tables.h
//   parameters  64 x 512 x 192 B       tables.h
//   communicators kCommunicators x 128 B, peers kPeers x 16 B, collectives kCollectives x 64 B    collective.h
//   copied      128 x 4,096 B          tables.h
//   intern   the rest              intern.h
//
// Times are ticks: of the TSC on x86-64, of the virtual counter on 64-bit Arm. kClockTicks and kClockNanoseconds
// convert them to nanoseconds. Readers take offsets and sizes from the region table, never from the constants below.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/bytes.h"
#include "wire/collective.h"
#include "wire/tables.h"

namespace cudadiag::wire::area {

inline constexpr std::uint64_t kMagicValue = 0x3141455241474443;  // "CDGAREA1"
inline constexpr std::uint32_t kFormatVersion = 6;

inline constexpr std::size_t kHeaderSize = 8192;
// The largest page size of a Linux kernel on this architecture. Mapped and registered ranges are aligned to it.
#if defined(__x86_64__)
inline constexpr std::size_t kPage = 4096;
#else
inline constexpr std::size_t kPage = 65536;
#endif

inline constexpr std::size_t kThreads = 128;
inline constexpr std::size_t kContexts = 64;
inline constexpr std::size_t kStreams = 4096;
inline constexpr std::size_t kErrors = 256;
inline constexpr std::size_t kSites = 65536;
inline constexpr std::size_t kHeldPerStream = 16;
inline constexpr std::size_t kRingRecords = 4096;

inline constexpr std::size_t kThreadSize = 128;
inline constexpr std::size_t kContextSize = 64;
inline constexpr std::size_t kStreamSize = 128;
inline constexpr std::size_t kMarkerSize = 32;
inline constexpr std::size_t kMarkersPerPage = 128;
inline constexpr std::size_t kFrozenSize = 8;
inline constexpr std::size_t kErrorSize = 152;
inline constexpr std::size_t kSiteSize = 8;
inline constexpr std::size_t kOperationSize = 64;

inline constexpr std::size_t kGraphWords = 65536;
inline constexpr std::size_t kGraphWordSize = 4;

inline constexpr std::size_t kAllocations = 32768;
inline constexpr std::size_t kAllocationSize = 64;

// Returns the offset of a stream's marker in `markers`. `page` is the size of a page of markers.
constexpr std::size_t marker_place(std::size_t stream, std::size_t page) {
  return stream / kMarkersPerPage * page + stream % kMarkersPerPage * kMarkerSize;
}

inline constexpr std::size_t kCommunicators = 256;
inline constexpr std::size_t kPeers = 4096;
inline constexpr std::size_t kCollectives = 8192;

// Returns the index of a site's count in `sites`, which holds `places` counts. Threads that start together often use
// consecutive sites. To avoid sharing cache lines, the counts of consecutive sites are two lines apart: processors
// fetch lines in pairs.
constexpr std::size_t site_place(std::size_t site, std::size_t places) {
  constexpr std::size_t kApart = 16;
  const std::size_t rows = places / kApart;
  return rows == 0 || places % kApart != 0 ? site : site % rows * kApart + site / rows;
}

enum class Region : std::uint32_t {
  threads,
  contexts,
  streams,
  markers,
  frozen,
  errors,
  sites,
  held,
  rings,
  graph_words,
  allocations,
  layouts,
  parameters,
  intern,
  // Older recordings lack the following regions.
  communicators,
  peers,
  collectives,
  copied
};
inline constexpr std::size_t kRegions = 18;

// The size of the whole area, including the intern heap. The recording of one process never grows beyond this.
inline constexpr std::size_t kAreaSize = 64u << 20;

struct RegionRange {
  std::uint64_t offset;
  std::uint64_t size;
};

// Returns the offsets and sizes of the regions in this version of the recorder.
constexpr std::array<RegionRange, kRegions> layout() {
  constexpr auto kIntern = static_cast<std::size_t>(Region::intern);
  const std::array<std::uint64_t, kRegions> sizes = {
      kThreads * kThreadSize,
      kContexts * kContextSize,
      kStreams * kStreamSize,
      kStreams / kMarkersPerPage * kPage,
      kStreams * kFrozenSize,
      kErrors * kErrorSize,
      kSites * kSiteSize,
      kStreams * kHeldPerStream * kOperationSize,
      kThreads * kRingRecords * kOperationSize,
      kGraphWords * kGraphWordSize,
      kAllocations * kAllocationSize,
      launch_parameters::kLayouts * sizeof(std::uint16_t),
      launch_parameters::kThreads * launch_parameters::kSlots * launch_parameters::kSlotSize,
      0,  // set below to the remaining space
      kCommunicators * communicator::kSize,
      kPeers * peer::kSize,
      kCollectives * collective::kSize,
      launch_parameters::copied::kSlots * launch_parameters::copied::kSlotSize};
  std::array<RegionRange, kRegions> ranges{};
  std::uint64_t at = kHeaderSize;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i == kIntern) continue;
    ranges[i] = {at, sizes[i]};
    at = (at + sizes[i] + kPage - 1) / kPage * kPage;
  }
  ranges[kIntern] = {at, kAreaSize - at};
  return ranges;
}

enum class State : std::uint32_t {
  empty = 0,  // claimed by a process that has not written to it yet
  recording = 1,
  frozen = 2,    // a sticky error occurred, so recording has ended
  finished = 3,  // the process reached its exit handlers without a sticky error
  disabled = 4,  // the recorder stopped recording; a note gives the reason
};

inline constexpr Field<std::uint64_t, 0> kMagic;
inline constexpr Field<std::uint32_t, 8> kVersion;
inline constexpr Field<std::uint32_t, 12> kState;  // State; stored with release
inline constexpr Field<std::uint32_t, 16> kPid;    // in the process's own PID namespace
inline constexpr Field<std::uint32_t, 20> kParentPid;
inline constexpr Field<std::uint64_t, 24> kStartRealtime;  // ns since the epoch

// Two readings of (ticks, CLOCK_MONOTONIC ns): one at the start, one at the freeze or exit (0 if never taken).
inline constexpr Field<std::uint64_t, 32> kClockTicks;
inline constexpr Field<std::uint64_t, 40> kClockNanoseconds;
inline constexpr Field<std::uint64_t, 48> kClockTicksLast;
inline constexpr Field<std::uint64_t, 56> kClockNanosecondsLast;

// Counters of lost data. Any thread may increment any of them.
inline constexpr Field<std::uint64_t, 64> kDroppedOperations;  // operations of threads without a ring
inline constexpr Field<std::uint64_t, 72> kDroppedSites;       // sites that did not fit into the site table
inline constexpr Field<std::uint64_t, 80> kDroppedInterns;     // entries that did not fit into the intern heap
inline constexpr Field<std::uint64_t, 88> kDroppedStreams;     // streams without an entry
inline constexpr Field<std::uint64_t, 96> kDroppedHeld;        // unfinished operations that did not fit into `held`
inline constexpr Field<std::uint64_t, 104> kFailedMarkers;     // marker writes that the driver rejected
inline constexpr Field<std::uint64_t, 112> kErrorCount;        // number of failed calls; the area keeps kErrors of them
inline constexpr Field<std::uint64_t, 152> kDroppedGraphs;     // graphs and nodes that did not fit

inline constexpr Field<std::uint64_t, 160> kDroppedAllocations;    // live allocations without an entry
inline constexpr Field<std::uint64_t, 168> kForgottenAllocations;  // freed allocations whose entries were reused

inline constexpr Field<std::uint64_t, 176> kAllocationsUsed;  // entries of `allocations` in use; stored with release

inline constexpr Field<std::uint64_t, 120> kInternUsed;  // bytes in complete heap entries; stored with release

// Set at the freeze (State::frozen). kFrozenError is 1 + the index in `errors` of the call that reported the sticky
// error.
inline constexpr Field<std::uint32_t, 128> kFrozenError;
inline constexpr Field<std::uint32_t, 132> kFrozenCode;  // CUresult value of the sticky error
inline constexpr Field<std::uint64_t, 136> kFrozenTicks;

inline constexpr Field<std::uint64_t, 144> kWaits;  // number of operations that a rerun waited for

// 1 + the low byte of the status that the process passed to exit(). 0 before exit(), or if the status is unknown. Exit
// handlers may still change the status with which the process ends.
inline constexpr Field<std::uint32_t, 184> kExitStatus;

// From this time (ticks) on, events may refer to work that is not in the recording; 0 if never. The reason is an event
// that another process recorded, or that a thread without a ring destroyed.
inline constexpr Field<std::uint64_t, 192> kEventsUnseen;

// The size of a page of markers. 0 means 4096, because older recordings lack this field.
inline constexpr Field<std::uint32_t, 200> kMarkerPage;
// 1 if the words of `markers` are memory of the process, so that they are known only from `frozen`.
inline constexpr Field<std::uint32_t, 204> kMarkersPrivate;
inline constexpr std::size_t kSmallestMarkerPage = kMarkersPerPage * kMarkerSize;

inline constexpr Field<std::uint64_t, 208> kCollectivesCalled;     // number of the latest call
inline constexpr Field<std::uint64_t, 216> kDroppedCommunicators;  // communicators without an entry
inline constexpr Field<std::uint64_t, 224> kDroppedPeers;          // sends and receives that could not be counted

// Without a launcher: the number of earlier areas that this process and earlier ones removed from the session to bound
// its size. Processes that begin at the same time may miss each other's counts.
inline constexpr Field<std::uint64_t, 232> kEarlierRemoved;

// Region r: offset at kRegionTable + 16 r, size at kRegionTable + 16 r + 8.
inline constexpr std::size_t kRegionTable = 1024;
inline constexpr Field<std::uint64_t, 0> kRegionOffset;
inline constexpr Field<std::uint64_t, 8> kRegionBytes;

}  // namespace cudadiag::wire::area

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

// Written by the launcher before the target starts. Set to 0 once it reads no new areas: recorders then write files.
inline constexpr Field<std::uint64_t, 0> kMagic;
inline constexpr Field<std::uint32_t, 8> kVersion;     // written by the launcher: area.h's kFormatVersion
inline constexpr Field<std::uint32_t, 12> kAreas;      // written by the launcher
inline constexpr Field<std::uint64_t, 16> kAreaBytes;  // written by the launcher
inline constexpr Field<std::uint32_t, 24> kClaimed;    // incremented by recorders; can exceed kAreas
// A futex word. A recorder increments it and wakes its waiters when an area freezes, so the launcher need not poll.
inline constexpr Field<std::uint32_t, 28> kEvents;
// The number of processes that initialised CUDA but could not be recorded. Processes that found no area left do not
// count. Before a recorder increments this, it stores its reason in kUnrecordedWhy (pass_files.h).
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
