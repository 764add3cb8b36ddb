// How far the streams' work has come: ordinals, completion markers, and the operations that are still unfinished.
#include <string.h>

#include "record/operations/streams.h"
#include "wire/operation.h"

namespace cudadiag::record {

namespace area = wire::area;
namespace stream = wire::stream;

// ---- ordinals

std::uint32_t Streams::issued(std::uint32_t at) const { return wire::load_acquire(entry(at), stream::kIssued); }

std::uint32_t Streams::queued(std::uint32_t at) const {
  const std::uint64_t both = wire::load_acquire(entry(at), stream::kIssuedInFlight);
  return both >= kOneInFlight ? 0 : static_cast<std::uint32_t>(both);
}

std::uint32_t Streams::unmarked(std::uint32_t at, std::uint32_t ordinal) const {
  const std::uint32_t marked = wire::load_acquire(entry(at), stream::kMarkerIssued);
  return marked < ordinal ? ordinal - marked : 0;
}

std::uint32_t Streams::enter(std::uint32_t at, std::uint8_t& flags) {
  const std::uint64_t before =
      wire::atomic(entry(at), stream::kIssuedInFlight).fetch_add(kOneInFlight + 1, std::memory_order_acq_rel);
  if (before >= kOneInFlight) [[unlikely]]
    flags |= wire::operation::kContended;
  return static_cast<std::uint32_t>(before) + 1;
}

void Streams::leave(std::uint32_t at, std::uint32_t ordinal, std::uint8_t& flags) {
  const std::uint64_t before =
      wire::atomic(entry(at), stream::kIssuedInFlight).fetch_sub(kOneInFlight, std::memory_order_acq_rel);
  if (before >= 2 * kOneInFlight || static_cast<std::uint32_t>(before) != ordinal) [[unlikely]] {
    flags |= wire::operation::kContended;
  }
}

// ---- markers

std::uint32_t Streams::mark(std::uint32_t at) {
  std::byte* known = entry(at);
  // Queues no marker if another thread's call is in flight. Its operation may come before or after the marker, so its
  // EXIT queues the marker. During a capture, the recorder makes no driver calls of its own.
  const std::uint32_t ordinal = queued(at);
  if (ordinal == 0 || device_page(at) == 0 || capture_going_on() ||
      wire::load_acquire(known, stream::kMarkerIssued) == ordinal) {
    return 0;
  }
  // Counts the marker as a call in flight, which tells other threads that its position in the queue is uncertain. They
  // then queue no marker that this one could overtake.
  auto flight = wire::atomic(known, stream::kIssuedInFlight);
  std::uint64_t alone = ordinal;
  if (!flight.compare_exchange_strong(alone, alone + kOneInFlight, std::memory_order_acq_rel)) return 0;
  const bool marked = queue_marker(at, ordinal);
  const std::uint64_t before = flight.fetch_sub(kOneInFlight, std::memory_order_acq_rel);
  return marked && static_cast<std::uint32_t>(before) == ordinal ? ordinal : 0;
}

bool Streams::queue_marker(std::uint32_t at, std::uint32_t ordinal) {
  std::byte* known = entry(at);
  auto handle = reinterpret_cast<CUstream>(wire::load(known, stream::kHandle));
  const CUdeviceptr word = device_page(at) + at % kPerPage * area::kMarkerSize;
  const RelaxedCapture relaxed(*driver_);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (driver_->stream_is_capturing(handle, &status) != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE) {
    return false;
  }
  if (driver_->stream_write_value32(handle, word, ordinal, CU_STREAM_WRITE_VALUE_DEFAULT) != CUDA_SUCCESS) {
    area_->count(area::kFailedMarkers);
    return false;
  }
  wire::store_release(known, stream::kMarkerIssued, ordinal);
  return true;
}

// ---- what has finished

void Streams::completed(std::uint32_t at, std::uint32_t ordinal) {
  note_completed(at, ordinal);
  if (is_old(at, ordinal)) renew(at);
}

void Streams::renew(std::uint32_t at) {
  const LockGuard lock(mutex_);
  retire(at);
}

bool Streams::is_old(std::uint32_t at, std::uint32_t completed) const {
  return completed >= kOldOrdinal && issued(at) == completed;
}

void Streams::note_completed(std::uint32_t at, std::uint32_t ordinal) {
  auto word = wire::atomic(entry(at), stream::kHostCompleted);
  std::uint32_t known = word.load(std::memory_order_relaxed);
  while (known < ordinal && !word.compare_exchange_weak(known, ordinal, std::memory_order_release)) {
  }
}

void Streams::begin_wait(ThreadState& thread, std::uint32_t at) const {
  thread.waited_stream = at;
  thread.waited_ordinal = at == kNone ? 0 : queued(at);
}

void Streams::finish_wait(ThreadState& thread) {
  if (thread.waited_stream != kNone) completed(thread.waited_stream, thread.waited_ordinal);
}

void Streams::begin_context_wait(ThreadState& thread) const {
  const std::uint32_t used = highest_;
  for (std::uint32_t i = 0; i < used; ++i) thread.waited_streams[i] = queued(i);
}

void Streams::finish_context_wait(ThreadState& thread, std::uint32_t context_uid) {
  const std::uint64_t began = wire::load(thread.entry, wire::thread::kCallTicks);
  const LockGuard lock(mutex_);
  const std::uint32_t context_place = context_index(context_uid);
  for (std::uint32_t i = 0; i < highest_; ++i) {
    // Skips an entry that was reused for another stream after the wait began: the wait was for the earlier stream.
    if (wire::load(entry(i), stream::kContext) != context_place || wire::load(entry(i), stream::kCreated) > began) {
      continue;
    }
    note_completed(i, thread.waited_streams[i]);
    if (is_old(i, thread.waited_streams[i])) retire(i);
  }
}

bool Streams::finished(std::uint32_t at, std::uint32_t ordinal) const {
  // Reads the marker last, because the GPU's writes evict its cache line.
  return wire::load_acquire(entry(at), stream::kHostCompleted) >= ordinal ||
         wire::load_acquire(marker(at), wire::marker::kCompleted) >= ordinal;
}

bool Streams::others_are_idle(std::uint32_t stream) const {
  for (std::uint32_t i = 0; i < highest_; ++i) {
    if (i != stream && contexts_.is_live(context_of(i)) && !finished(i, issued(i))) return false;
  }
  return true;
}

void Streams::hold(const std::byte* record, std::uint32_t at) {
  const std::uint64_t created = wire::load(entry(at), stream::kCreated);
  // Drops records of destroyed contexts, and of earlier streams with this entry. Records of destroyed streams are kept,
  // because a stream may be destroyed while it is busy.
  if (wire::load(entry(at), stream::kState) == static_cast<std::uint32_t>(stream::State::free) ||
      !contexts_.is_live(wire::load(entry(at), stream::kContext)) ||
      wire::load(record, wire::operation::kTicks) < created) {
    return;
  }
  std::byte* places = area_->region(area::Region::held) + at * area::kHeldPerStream * area::kOperationSize;
  const LockGuard lock(held_mutex_);
  for (std::size_t i = 0; i < area::kHeldPerStream; ++i) {
    std::byte* place = places + i * area::kOperationSize;
    const bool free = wire::load(place, wire::operation::kSerial) == 0 ||
                      wire::load(place, wire::operation::kTicks) < created ||
                      finished(at, wire::load(place, wire::operation::kOrdinal));
    if (!free) continue;
    wire::store_release(place, wire::operation::kSerial, 0);
    std::atomic_thread_fence(std::memory_order_release);
    memcpy(place + wire::operation::kSerial.end, record + wire::operation::kSerial.end,
           area::kOperationSize - wire::operation::kSerial.end);
    wire::store_release(place, wire::operation::kSerial, wire::load(record, wire::operation::kSerial));
    return;
  }
  // All places are taken. The oldest records stay, because only the first unfinished operation of a stream can have
  // failed.
  area_->count(area::kDroppedHeld);
}

void Streams::freeze() {
  std::byte* frozen = area_->region(area::Region::frozen);
  for (std::uint32_t i = 0; i < highest_; ++i, frozen += area::kFrozenSize) {
    wire::store(frozen, wire::frozen::kMarker, wire::load_acquire(marker(i), wire::marker::kCompleted));
    wire::store(frozen, wire::frozen::kHostCompleted, wire::load_acquire(entry(i), stream::kHostCompleted));
  }
}

}  // namespace cudadiag::record
