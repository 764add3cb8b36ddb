#include "session/ring_follower.h"

#include <algorithm>
#include <tuple>

#include "session/area_reader.h"
#include "wire/hash.h"
#include "wire/operation.h"
#include "wire/tables.h"

namespace cudadiag::session {
namespace {

namespace area = wire::area;
namespace operation = wire::operation;

}  // namespace

// The recorder stores the state only after it has filled in the header, so a header with a state is complete.
bool RingFollower::ready() {
  if (capacity_ > 0) return true;
  if (area_.size() < area::kHeaderSize ||
      wire::load_acquire(area_.data(), area::kState) == static_cast<std::uint32_t>(area::State::empty) ||
      wire::load(area_.data(), area::kMagic) != area::kMagicValue ||
      wire::load(area_.data(), area::kVersion) != area::kFormatVersion) {
    return false;
  }
  const AreaRegions regions(area_);
  const std::size_t threads = regions.count(area::Region::threads, area::kThreadSize, kMostThreads);
  if (threads == 0) return false;
  threads_ = regions.region(area::Region::threads);
  rings_ = regions.region(area::Region::rings);
  capacity_ = rings_.size() / kSize / threads;
  done_.resize(threads);
  return capacity_ > 0;
}

bool RingFollower::poll(RingReader& reader) {
  if (!ready()) return false;
  const std::uint64_t ripe = ripe_;
  const bool fresh = fetch(reader);
  const bool had = !fetched_.empty();
  hand_out(ripe, reader);
  return fresh || had;
}

void RingFollower::finish(RingReader& reader) {
  if (!ready()) return;
  when_ = When::issued;
  fetch(reader);
  hand_out(~std::uint64_t{0}, reader);
}

bool RingFollower::fetch(RingReader& reader) {
  bool fresh = false;
  for (std::uint32_t thread = 0; thread < done_.size(); ++thread) {
    const std::byte* entry = threads_.data() + thread * area::kThreadSize;
    const std::uint64_t published = wire::load_acquire(entry, wire::thread::kPublished);
    if (published > done_[thread]) fresh |= fetch_thread(thread, published, reader);
  }
  if (!fresh) return false;
  std::ranges::sort(fetched_, [](const Fetched& a, const Fetched& b) {
    return std::tie(a.ticks, a.thread, a.serial) < std::tie(b.ticks, b.thread, b.serial);
  });
  ripe_ = fetched_.empty() ? ripe_ : std::max(ripe_, fetched_.back().ticks);
  return true;
}

// Returns whether the recorded call has returned. Only a thread's newest record can describe a call that has not.
bool RingFollower::returned(const std::byte* slot) const {
  const auto kind = static_cast<operation::Kind>(wire::load_acquire(slot, operation::kKind));
  return operation::is_race_record(kind) || (wire::load_acquire(slot, operation::kFlags) & operation::kReturned) != 0;
}

// Fetches the new records of a thread. Records at the end that cannot be read are either incomplete or being
// overwritten. The next poll finds out which.
bool RingFollower::fetch_thread(std::uint32_t thread, std::uint64_t published, RingReader& reader) {
  using Serial = decltype(operation::kSerial)::type;
  std::uint64_t& done = done_[thread];
  std::uint64_t missing = 0, until = 0;
  bool fresh = false;
  for (std::uint64_t serial = std::max(done + 1, published > capacity_ ? published - capacity_ + 1 : 1);
       serial - 1 < published; ++serial) {  // terminates for any value of `published`
    const std::byte* slot = rings_.data() + (thread * capacity_ + (serial - 1) % capacity_) * kSize;
    if (when_ == When::returned && serial == published && !returned(slot)) break;
    const auto copy = copy_serialised<kSize, Serial>(slot);
    if (!copy || wire::load(copy->data(), operation::kSerial) != static_cast<Serial>(serial) ||
        wire::load(copy->data(), operation::kThread) != thread) {
      continue;
    }
    const std::uint64_t ticks = wire::load(copy->data(), operation::kTicks);
    if (serial != done + 1) {
      missing += serial - (done + 1);
      until = ticks;
    }
    done = serial;
    fetched_.push_back({ticks, serial, thread, *copy});
    fresh = true;
  }
  if (missing > 0) reader.lost(missing, until);
  return fresh;
}

void RingFollower::hand_out(std::uint64_t ticks, RingReader& reader) {
  const auto end = std::ranges::find_if(fetched_, [&](const Fetched& f) { return f.ticks > ticks; });
  for (auto each = fetched_.begin(); each != end; ++each) reader.record(each->copy.data());
  fetched_.erase(fetched_.begin(), end);
}

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
    const std::byte* marker = regions.marker(i);
    if (marker != nullptr) {
      streams[i].completed = std::max(streams[i].completed, wire::load_acquire(marker, wire::marker::kCompleted));
    }
    // Reads these two fields after `completed`, so that operations issued in between are included.
    streams[i].marked = marker == nullptr ? 0 : wire::load_acquire(entry, wire::stream::kMarkerIssued);
    streams[i].issued = wire::load_acquire(entry, wire::stream::kIssued);
  }
  return streams;
}

}  // namespace cudadiag::session
