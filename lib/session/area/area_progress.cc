#include "session/area/area_progress.h"

#include <algorithm>

#include "session/area/area_reader.h"
#include "session/area/area_regions.h"
#include "wire/hash.h"

namespace cudadiag::session {

using wire::area::Region;

std::uint64_t operations_so_far(std::span<const std::byte> area) {
  if (area.size() < wire::area::kHeaderSize) return 0;
  const AreaRegions regions(area);
  const std::size_t count = regions.count(Region::threads, wire::area::kThreadSize, kMostThreads);
  std::uint64_t operations = 0;
  for (std::size_t i = 0; i < count; ++i) {
    operations +=
        wire::load(regions.region(Region::threads).data() + i * wire::area::kThreadSize, wire::thread::kOperations);
  }
  return operations;
}

std::uint64_t progress_digest(std::span<const std::byte> area) {
  std::uint64_t digest = wire::kHashSeed;
  if (!not_an_area(area).empty()) return digest;
  const auto add = [&](std::uint64_t value) { digest = wire::mix(digest, value); };
  const AreaRegions regions(area);
  add(wire::load_acquire(area.data(), wire::area::kState));
  add(wire::load_acquire(area.data(), wire::area::kErrorCount));
  const std::size_t threads = regions.count(Region::threads, wire::area::kThreadSize, kMostThreads);
  for (std::size_t i = 0; i < threads; ++i) {
    const std::byte* entry = regions.region(Region::threads).data() + i * wire::area::kThreadSize;
    add(wire::load_acquire(entry, wire::thread::kPublished));
    // Considers only calls that may block: a loop that queries whether something is ready makes no progress.
    if (wire::load_acquire(entry, wire::thread::kCallSite) != 0)
      add(wire::load_acquire(entry, wire::thread::kCallTicks));
  }
  const std::size_t streams = regions.count(Region::streams, wire::area::kStreamSize, kMostStreams);
  for (std::size_t i = 0; i < streams; ++i) {
    const std::byte* entry = regions.region(Region::streams).data() + i * wire::area::kStreamSize;
    // Skips holes: reading a hole of the memory file would allocate its memory.
    if (wire::load_acquire(entry, wire::stream::kState) == 0) continue;
    add(wire::load_acquire(entry, wire::stream::kIssued));
    add(wire::load_acquire(entry, wire::stream::kHostCompleted));
    if (const std::byte* marker = regions.marker(i)) add(wire::load_acquire(marker, wire::marker::kCompleted));
  }
  return digest;
}

std::vector<StreamProgress> stream_progress(std::span<const std::byte> area) {
  if (!not_an_area(area).empty()) return {};
  const AreaRegions regions(area);
  std::vector<StreamProgress> streams(regions.count(Region::streams, wire::area::kStreamSize, kMostStreams));
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const std::byte* entry = regions.region(Region::streams).data() + i * wire::area::kStreamSize;
    if (wire::load_acquire(entry, wire::stream::kState) == 0) continue;
    streams[i].created = std::max<std::uint64_t>(1, wire::load_acquire(entry, wire::stream::kCreated));
    streams[i].completed = wire::load_acquire(entry, wire::stream::kHostCompleted);
    if (const std::byte* marker = regions.marker(i)) {
      streams[i].completed = std::max(streams[i].completed, wire::load_acquire(marker, wire::marker::kCompleted));
    }
    // Reads these two fields after `completed`, so that operations issued in between are included.
    streams[i].marked = wire::load_acquire(entry, wire::stream::kMarkerIssued);
    streams[i].issued = wire::load_acquire(entry, wire::stream::kIssued);
  }
  return streams;
}

}  // namespace cudadiag::session
