#include "record/operations/streams.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>

#include "wire/hash.h"
#include "wire/operation.h"
#include "wire/race_record.h"

namespace cudadiag::record {

using wire::mix;

namespace area = wire::area;
namespace context = wire::context;
namespace stream = wire::stream;

void Streams::attach(AreaMap& map, Interner& interner, const DriverApi& driver, wire::Markers mode) {
  area_ = &map;
  interner_ = &interner;
  driver_ = &driver;
  mode_ = mode;
  contexts_.attach(map, interner, driver);
  streams_ = map.region(area::Region::streams);
  markers_ = map.region(area::Region::markers);
}

// ---- contexts

bool Streams::context_created(CUcontext handle, std::uint32_t uid) {
  const Contexts::Place place = contexts_.take(handle, uid);
  if (place.outcome != Contexts::Place::Outcome::taken) return place.outcome == Contexts::Place::Outcome::known;
  // Registers the page now, while the context is idle. A later registration might wait for a kernel that waits for this
  // thread. Look-ups find the context only after the registration. If the registration fails, the page is released, and
  // no stream uses it.
  const bool ready = new_page(place.index) != kNotReady;
  ready ? contexts_.make_live(place.index) : contexts_.give_back(place.index);
  return ready;
}

void Streams::context_destroyed(std::uint32_t uid) {
  const LockGuard lock(mutex_);
  const std::uint32_t index = context_index(uid);
  if (index == kNone) return;
  contexts_.destroyed(index);
  for (std::uint32_t page = 0; page < kPages; ++page) {
    if (pages_[page].context != index + 1) continue;
    for (std::uint32_t i = page * kPerPage; i < (page + 1) * kPerPage; ++i) {
      if (wire::load(entry(i), stream::kState) == static_cast<std::uint32_t>(stream::State::free)) continue;
      wire::store_release(entry(i), stream::kState, static_cast<std::uint32_t>(stream::State::destroyed));
    }
    pages_[page].take(0);
  }
  // Rebuilds all hash chains without the entries of destroyed contexts.
  buckets_.fill(0);
  for (std::uint32_t i = 0; i < highest_; ++i) {
    if (wire::load(entry(i), stream::kState) != static_cast<std::uint32_t>(stream::State::live)) continue;
    const std::uint64_t handle = wire::load(entry(i), stream::kHandle);
    const std::size_t bucket = mix(handle, wire::load(entry(i), stream::kThreadTid)) % kBuckets;
    next_[i] = buckets_[bucket];
    buckets_[bucket] = i + 1;
  }
  generation_.fetch_add(1, std::memory_order_release);
}

std::uint32_t Streams::new_page(std::uint32_t context_place) {
  std::uint32_t page = kNone;
  {
    const LockGuard lock(mutex_);
    for (std::uint32_t i = 0; i < kPages && page == kNone; ++i) {
      if (pages_[i].context == 0) page = i;
    }
    if (page == kNone) return kNone;
    pages_[page].take(context_place + 1);
    memset(markers_ + page * area::kPage, 0, area::kPage);
    memset(entry(page * kPerPage), 0, kPerPage * area::kStreamSize);
  }
  if (register_page(context_place, page)) return page;
  const LockGuard lock(mutex_);
  pages_[page].take(0);
  return kNotReady;
}

// Since Linux 6.5, the driver cannot pin the memory of a file on a disk. The words are then memory of this process,
// which readers do not see before the freeze.
bool Streams::keep_words_private() {
  const LockGuard lock(mutex_);
  const bool works = std::any_of(pages_.begin(), pages_.end(), [](const Page& page) { return page.device != 0; });
  const auto& is_private = area::kMarkersPrivate;
  if (wire::load(area_->header(), is_private) != 0) return true;
  if (works || !area_->is_file()) return false;
  // A child that shares the memory cannot move it by writing to it.
  void* words = mmap(nullptr, area_->region_size(area::Region::markers), PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (words == MAP_FAILED) return false;
  markers_ = static_cast<std::byte*>(words);
  wire::store_release(area_->header(), is_private, 1u);
  return true;
}

bool Streams::register_page(std::uint32_t context_place, std::uint32_t page) {
  auto state = context::Markers::off;
  if (mode_ != wire::Markers::off && driver_->can_mark()) {
    const RelaxedCapture relaxed(*driver_);
    std::byte* memory = nullptr;
    const auto registered = [&] {
      memory = markers_ + page * area::kPage;
      return driver_->mem_host_register(memory, area::kPage,
                                        CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
    };
    CUdeviceptr device = 0;
    CUresult result = registered();
    if (result == CUDA_ERROR_INVALID_VALUE && keep_words_private()) result = registered();
    // A primary context becomes current before the driver has created it, so the caller must try again later.
    if (result == CUDA_ERROR_CONTEXT_IS_DESTROYED) return false;
    if (result == CUDA_SUCCESS) result = driver_->mem_host_get_device_pointer(&device, memory, 0);
    state = result == CUDA_SUCCESS ? context::Markers::on : context::Markers::refused;
    pages_[page].device.store(result == CUDA_SUCCESS ? device : 0, std::memory_order_release);
    if (result != CUDA_SUCCESS) {
      char text[128];
      snprintf(text, sizeof text, "completion markers are off: the driver could not register their memory (error %d)",
               result);
      interner_->note("markers-refused", text);
    }
  }
  wire::store_release(contexts_.entry(context_place), context::kMarkers, static_cast<std::uint32_t>(state));
  return true;
}

// ---- streams

namespace {

// Handle 0 is the legacy or the per-thread default stream, depending on the entry point. Both streams also have handles
// of their own.
std::uint64_t own_handle(StreamHandle given) {
  if (given.handle != nullptr) return reinterpret_cast<std::uint64_t>(given.handle);
  return reinterpret_cast<std::uint64_t>(given.per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY);
}

StreamCacheEntry& cache_place(ThreadState& thread, std::uint64_t handle, std::uint32_t context_uid) {
  return thread.streams[mix(handle, context_uid) >> 8 & 255];
}

}  // namespace

bool Streams::find_known(ThreadState& thread, StreamHandle given, std::uint32_t context_uid,
                         std::uint32_t& found) const {
  const std::uint64_t handle = own_handle(given);
  const std::uint32_t generation = generation_.load(std::memory_order_acquire);
  const auto is_it = [&](const StreamCacheEntry& cached) {
    return cached.handle == handle && cached.context_uid == context_uid && cached.generation == generation;
  };
  if (!is_it(thread.newest_stream)) [[unlikely]] {
    const StreamCacheEntry& cached = cache_place(thread, handle, context_uid);
    if (!is_it(cached)) return false;
    thread.newest_stream = cached;
  }
  found = thread.newest_stream.stream;
  return true;
}

std::uint32_t Streams::find(ThreadState& thread, StreamHandle given, std::uint32_t context_uid) {
  std::uint32_t found = kNone;
  if (find_known(thread, given, context_uid, found)) return found;
  const std::uint64_t handle = own_handle(given);
  const std::uint32_t generation = generation_.load(std::memory_order_acquire);
  const bool per_thread = handle == reinterpret_cast<std::uint64_t>(CU_STREAM_PER_THREAD);
  found = find_slow(thread, handle, context_uid, per_thread ? thread.tid : 0);
  if (found == kNotReady) return kNone;
  // Also caches kNone, the result for a full table, until a stream is destroyed. kNotReady is temporary and is not
  // cached.
  cache_place(thread, handle, context_uid) = {handle, context_uid, generation, found};
  return found;
}

std::uint32_t Streams::find_slow(ThreadState& thread, std::uint64_t handle, std::uint32_t context_uid,
                                 std::uint32_t tid) {
  const std::size_t bucket = mix(handle, tid) % kBuckets;
  std::uint32_t context_place;
  {
    const LockGuard lock(mutex_);
    context_place = context_index(context_uid);
    if (context_place == kNone) return kNotReady;
    if (const std::uint32_t known = known_entry(bucket, handle, context_place, tid); known != kNone) return known;
  }
  unsigned long long id = 0;
  const bool can_ask = !capture_going_on();
  if (can_ask) context_place = home_of(handle, context_place);
  if (driver_->stream_get_id != nullptr && can_ask) {
    driver_->stream_get_id(reinterpret_cast<CUstream>(handle), &id);
  }
  const bool legacy = handle == reinterpret_cast<std::uint64_t>(CU_STREAM_LEGACY);
  unsigned made_with = 0;
  if (driver_->stream_get_flags != nullptr && !legacy && tid == 0 && can_ask) {
    driver_->stream_get_flags(reinterpret_cast<CUstream>(handle), &made_with);
  }
  const std::uint32_t flags = (legacy ? stream::kLegacy : 0u) | (tid != 0 ? stream::kPerThread : 0u) |
                              ((made_with & CU_STREAM_NON_BLOCKING) != 0 ? stream::kNonBlocking : 0u);
  std::uint32_t taken;
  do {
    const LockGuard lock(mutex_);
    // Looks again: the driver was called without the lock, so another thread may have added the stream in the meantime.
    if (const std::uint32_t known = known_entry(bucket, handle, context_place, tid); known != kNone) return known;
    taken = take_entry(context_place);
    if (taken >= area::kStreams) continue;
    // Other functions read all entries without the lock, and check the state first, so the state is cleared first.
    std::byte* made = entry(taken);
    wire::store_release(made, stream::kState, static_cast<std::uint32_t>(stream::State::free));
    std::atomic_thread_fence(std::memory_order_release);  // readers see the new state before the following changes
    memset(made + stream::kState.end, 0, area::kStreamSize - stream::kState.end);
    wire::atomic(marker(taken), wire::marker::kCompleted).store(0);
    wire::store(made, stream::kContext, context_place);
    wire::store(made, stream::kHandle, handle);
    wire::store(made, stream::kStreamId, id);
    wire::store(made, stream::kCreated, ticks());
    wire::store(made, stream::kThreadTid, tid);
    wire::store(made, stream::kFlags, flags);
    wire::store_release(made, stream::kState, static_cast<std::uint32_t>(stream::State::live));
    highest_ = std::max(highest_.load(), taken + 1);
    if (records_streams_) record_made(thread, taken);
    next_[taken] = buckets_[bucket];
    buckets_[bucket] = taken + 1;
    return taken;
  } while (new_page(context_place) < kPages);
  area_->count(area::kDroppedStreams);
  return taken;
}

// Call this before any thread can find the entry, so that this record precedes all operations on the stream.
void Streams::record_made(ThreadState& thread, std::uint32_t at) {
  namespace operation = wire::operation;
  namespace race = wire::race;
  const std::byte* made = entry(at);
  std::byte* record = next_record(thread, *this);
  memset(record + operation::kSerial.end, 0, area::kOperationSize - operation::kSerial.end);
  wire::store(record, operation::kKind, static_cast<std::uint8_t>(operation::Kind::stream_made));
  wire::store(record, operation::kThread, static_cast<std::uint8_t>(thread.index));
  wire::store(record, operation::kStream, static_cast<std::uint16_t>(at));
  wire::store(record, operation::kTicks, wire::load(made, stream::kCreated));
  wire::store(record, race::kWord0, wire::load(made, stream::kHandle));
  wire::store(record, race::kWord1, wire::load(contexts_.entry(wire::load(made, stream::kContext)), context::kUid));
  wire::store(record, race::kWord2, wire::load(made, stream::kFlags));
  publish(thread, record);
}

// Returns the stream's own context, because copies and waits accept streams of any context. Falls back to the current
// context.
std::uint32_t Streams::home_of(std::uint64_t handle, std::uint32_t current) {
  CUcontext home = nullptr;
  const bool has_home = handle != reinterpret_cast<std::uint64_t>(CU_STREAM_LEGACY) &&
                        handle != reinterpret_cast<std::uint64_t>(CU_STREAM_PER_THREAD);
  if (!has_home || driver_->stream_get_ctx == nullptr ||
      driver_->stream_get_ctx(reinterpret_cast<CUstream>(handle), &home) != CUDA_SUCCESS) {
    return current;
  }
  const std::uint32_t index = contexts_.index_of(home);
  return index == kNone ? current : index;
}

std::uint32_t Streams::known_entry(std::size_t bucket, std::uint64_t handle, std::uint32_t context_place,
                                   std::uint32_t tid) const {
  for (std::uint32_t at = buckets_[bucket]; at != 0; at = next_[at - 1]) {
    const std::byte* known = entry(at - 1);
    if (wire::load(known, stream::kHandle) == handle && wire::load(known, stream::kThreadTid) == tid &&
        wire::load(known, stream::kContext) == context_place) {
      return at - 1;
    }
  }
  return kNone;
}

std::uint32_t Streams::living(CUstream made) {
  const auto handle = reinterpret_cast<std::uint64_t>(made);
  const LockGuard lock(mutex_);
  std::uint32_t at = buckets_[mix(handle, 0) % kBuckets];
  while (at != 0 && wire::load(entry(at - 1), stream::kHandle) != handle) at = next_[at - 1];
  return at == 0 ? kNone : at - 1;
}

// A destroyed stream may still be busy. Its marker word may be reused only once the GPU has written the last marker.
bool Streams::reusable(std::uint32_t at) const {
  return wire::load(entry(at), stream::kState) == static_cast<std::uint32_t>(stream::State::destroyed) &&
         wire::load_acquire(marker(at), wire::marker::kCompleted) >=
             wire::load_acquire(entry(at), stream::kMarkerIssued);
}

std::uint32_t Streams::take_entry(std::uint32_t context_place) {
  for (std::uint32_t page = 0; page < kPages; ++page) {
    if (pages_[page].context == context_place + 1 && pages_[page].used < kPerPage) {
      return static_cast<std::uint32_t>(page * kPerPage + pages_[page].used++);
    }
  }
  bool at_work = false;
  for (std::uint32_t page = 0; page < kPages; ++page) {
    if (pages_[page].context != context_place + 1) continue;
    for (std::uint32_t at = page * kPerPage; at < (page + 1) * kPerPage; ++at) {
      if (reusable(at)) return at;
      at_work |= wire::load(entry(at), stream::kState) == static_cast<std::uint32_t>(stream::State::destroyed);
    }
  }
  return at_work ? kNotReady : kNone;
}

void Streams::stream_destroyed(CUstream gone) { end_all(reinterpret_cast<std::uint64_t>(gone), 0); }

void Streams::thread_ended(std::uint32_t tid) { end_all(reinterpret_cast<std::uint64_t>(CU_STREAM_PER_THREAD), tid); }

void Streams::end_all(std::uint64_t handle, std::uint32_t tid) {
  const LockGuard lock(mutex_);
  std::uint32_t* link = &buckets_[mix(handle, tid) % kBuckets];
  while (*link != 0) {
    const std::byte* known = entry(*link - 1);
    if (wire::load(known, stream::kHandle) == handle && wire::load(known, stream::kThreadTid) == tid) {
      end_life(*link);
    } else {
      link = &next_[*link - 1];
    }
  }
}

void Streams::retire(std::uint32_t at) {
  const std::uint64_t handle = wire::load(entry(at), stream::kHandle);
  std::uint32_t* link = &buckets_[mix(handle, wire::load(entry(at), stream::kThreadTid)) % kBuckets];
  while (*link != 0 && *link != at + 1) link = &next_[*link - 1];
  if (*link != 0) end_life(*link);
}

void Streams::end_life(std::uint32_t& link) {
  const std::uint32_t at = link - 1;
  wire::store_release(entry(at), stream::kState, static_cast<std::uint32_t>(stream::State::destroyed));
  link = next_[at];
  generation_.fetch_add(1, std::memory_order_release);
}

bool Streams::is_capturing(StreamHandle given) const {
  CUstream handle = given.handle == nullptr && given.per_thread ? CU_STREAM_PER_THREAD : given.handle;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const RelaxedCapture relaxed(*driver_);
  return driver_->stream_is_capturing(handle, &status) == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

CUstream Streams::handle(std::uint32_t at) const {
  return reinterpret_cast<CUstream>(wire::load(entry(at), stream::kHandle));
}

std::uint32_t Streams::context_of(std::uint32_t at) const {
  return at < area::kStreams ? wire::load(entry(at), stream::kContext) : kNone;
}

bool Streams::is_default_of(std::uint32_t at, std::uint32_t tid) const {
  return thread_of(at) == tid &&
         wire::load_acquire(entry(at), stream::kState) == static_cast<std::uint32_t>(stream::State::live);
}

bool Streams::can_be_at_work(std::uint32_t at) const {
  const auto state = static_cast<stream::State>(wire::load_acquire(entry(at), stream::kState));
  return state == stream::State::live || (state == stream::State::destroyed && thread_of(at) != 0);
}

std::uint32_t Streams::thread_of(std::uint32_t at) const { return wire::load(entry(at), stream::kThreadTid); }

std::byte* next_record(ThreadState& state, Streams& streams) {
  std::uint64_t serial = state.serial;
  if (static_cast<std::uint32_t>(serial + 1) == 0) [[unlikely]]
    state.serial = ++serial;
  std::byte* record = state.ring + serial % area::kRingRecords * area::kOperationSize;
  if (serial >= area::kRingRecords) [[likely]]
    streams.hold_unfinished(record);
  wire::store_release(record, wire::operation::kSerial, 0);
  std::atomic_thread_fence(std::memory_order_release);
  return record;
}

}  // namespace cudadiag::record
