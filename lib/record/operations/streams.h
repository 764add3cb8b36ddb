// The streams of the process, their ordinals, and the markers that show the progress of each stream.
//
// A stream's marker word is in a page that is registered with the stream's context. The registration ends with the
// context, so every context has whole pages of marker words, and its streams use the entries of these pages. Each
// thread has a cache for look-ups. One lock guards everything else. It is never held during a driver call.
#pragma once

#include <cuda.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "record/driver_api.h"
#include "record/libc_substitutes.h"
#include "record/operations/contexts.h"
#include "record/operations/threads.h"
#include "record/output/area_map.h"
#include "record/output/interner.h"
#include "wire/environment.h"
#include "wire/tables.h"

namespace cudadiag::record {

struct StreamHandle {
  CUstream handle;
  bool per_thread;  // whether handle 0 means the per-thread default stream for this entry point
};

class alignas(64) Streams {
 public:
  static constexpr std::uint32_t kNone = Contexts::kNone;
  // Ordinals run out after 2^32 operations, so a stream must get a new entry before that:
  // - From kOldOrdinal on, it gets one when all its operations have finished.
  // - From kMarkedOrdinal on, it gets one when a marker follows all its operations.
  // - From kLastOrdinal on, it gets one at the next operation.
  static constexpr std::uint32_t kOldOrdinal = 0xf0000000, kMarkedOrdinal = 0xff000000, kLastOrdinal = 0xffff0000;

  void attach(AreaMap& area, Interner& interner, const DriverApi& driver, wire::Markers mode);

  // After this call, each new stream gets a record in the ring (race_record.h).
  void record_streams() { records_streams_ = true; }

  // The context must be current to the thread. Returns false if the driver has not created it yet, or if another thread
  // is adding it. The caller must then try again at the next call.
  bool context_created(CUcontext context, std::uint32_t uid);
  void context_destroyed(std::uint32_t uid);
  void stream_destroyed(CUstream stream);
  // Call this when a thread has ended. Treats the thread's default streams as destroyed.
  void thread_ended(std::uint32_t tid);

  // Returns the index of the stream's entry, and creates the entry at the first call. Returns kNone if the table is
  // full.
  std::uint32_t find(ThreadState& thread, StreamHandle stream, std::uint32_t context_uid);
  // Looks only into the thread's cache. Returns false if the thread has not looked the stream up since a stream or
  // context was last destroyed. `found` may be kNone.
  [[gnu::hot]] bool find_known(ThreadState& thread, StreamHandle stream, std::uint32_t context_uid,
                               std::uint32_t& found) const;
  // Returns the index of the entry of a stream that the program created, or kNone if the stream has no entry.
  std::uint32_t living(CUstream stream);
  std::uint32_t context_index(std::uint32_t uid) const { return contexts_.index_of(uid); }
  Contexts& contexts() { return contexts_; }

  // Call these at ENTER and EXIT of a call that issues an operation. enter() returns the operation's ordinal. Both may
  // set flags.
  [[gnu::hot]] std::uint32_t enter(std::uint32_t stream, std::uint8_t& flags);
  [[gnu::hot]] void leave(std::uint32_t stream, std::uint32_t ordinal, std::uint8_t& flags);
  // Returns the number of operations that were issued after the latest marker.
  [[gnu::hot]] std::uint32_t unmarked(std::uint32_t stream) const { return unmarked(stream, issued(stream)); }
  // The same if `ordinal` is the latest operation; 0 if a later one has a marker.
  [[gnu::hot]] std::uint32_t unmarked(std::uint32_t stream, std::uint32_t ordinal) const;
  [[gnu::hot]] std::uint32_t issued(std::uint32_t stream) const;
  // Returns issued() if no call is in flight: all operations issued so far are then queued. Otherwise returns 0.
  std::uint32_t queued(std::uint32_t stream) const;
  // Queues a marker after all operations issued so far, and returns the ordinal of the last one. Returns 0 if no marker
  // could be queued (rejected, capturing, contended), or if another thread issued an operation in the meantime.
  [[gnu::noinline]] std::uint32_t mark(std::uint32_t stream);

  // Call this when the host has seen the operation's result, which proves that the operation has finished.
  [[gnu::noinline]] void completed(std::uint32_t stream, std::uint32_t ordinal);
  // A successful wait proves that all operations queued before it have finished. It proves nothing if a call is in
  // flight when the wait begins, because operations are counted before they are queued.
  void begin_wait(ThreadState& thread, std::uint32_t stream) const;
  void finish_wait(ThreadState& thread);
  void begin_context_wait(ThreadState& thread) const;
  void finish_context_wait(ThreadState& thread, std::uint32_t context_uid);

  // Retires the stream's entry. The stream's next operation creates a new one.
  [[gnu::cold, gnu::noinline]] void renew(std::uint32_t stream);

  CUstream handle(std::uint32_t stream) const;
  std::uint32_t context_of(std::uint32_t stream) const;  // index; kNone for an unknown stream
  std::uint32_t thread_of(std::uint32_t stream) const;   // tid of a per-thread default stream; 0 for other streams
  [[gnu::hot]] bool finished(std::uint32_t stream, std::uint32_t ordinal) const;
  // Returns true if all operations of all other streams have certainly finished.
  bool others_are_idle(std::uint32_t stream) const;
  // Returns true if the stream is the per-thread default stream of this thread, and the thread has not ended.
  bool is_default_of(std::uint32_t stream, std::uint32_t tid) const;
  // Keeps a copy of a record that is about to be overwritten in the ring, unless the recorded operation has finished.
  void hold_unfinished(const std::byte* record) {
    const std::uint32_t stream = wire::load(record, wire::operation::kStream);
    const std::uint32_t ordinal = wire::load(record, wire::operation::kOrdinal);
    if (stream < wire::area::kStreams && ordinal != 0 && !finished(stream, ordinal)) hold(record, stream);
  }
  // Copies the state of every stream at the freeze.
  void freeze();
  // Calls `visit(context handle, stream handle, flags, stream)` for each stream that has unfinished operations and a
  // live context.
  template <typename Visit>
  void each_unfinished(Visit visit);

  void capture_began() { captures_.fetch_add(1, std::memory_order_relaxed); }
  void capture_ended() {
    if (captures_.load(std::memory_order_relaxed) > 0) captures_.fetch_sub(1, std::memory_order_relaxed);
  }
  bool capture_going_on() const { return captures_.load(std::memory_order_relaxed) > 0; }
  [[gnu::cold, gnu::noinline]] bool is_capturing(StreamHandle stream) const;

 private:
  static constexpr std::size_t kPerPage = wire::area::kMarkersPerPage;
  static constexpr std::size_t kPages = wire::area::kStreams / kPerPage;
  static constexpr std::size_t kBuckets = 4096;
  static constexpr std::uint32_t kNotReady = 0xfffffffe;
  static constexpr std::uint64_t kOneInFlight = std::uint64_t{1} << 32;  // one call in wire::stream::kIssuedInFlight

  std::byte* entry(std::uint32_t stream) const { return streams_ + stream * wire::area::kStreamSize; }
  std::byte* marker(std::uint32_t stream) const {
    return markers_.load(std::memory_order_relaxed) + wire::area::marker_place(stream, wire::area::kPage);
  }
  // Returns true if the stream may have unfinished work: it is live, or it is the default stream of a thread that has
  // ended.
  bool can_be_at_work(std::uint32_t stream) const;
  [[gnu::cold, gnu::noinline]] void hold(const std::byte* record, std::uint32_t stream);
  std::uint32_t home_of(std::uint64_t handle, std::uint32_t current);
  void end_all(std::uint64_t handle, std::uint32_t tid);
  // Returns kNotReady if the driver has not created the context yet. Also returns kNotReady if every entry is in use,
  // but a destroyed stream will free its entry once its work has finished.
  std::uint32_t find_slow(ThreadState& thread, std::uint64_t handle, std::uint32_t context_uid, std::uint32_t tid);
  void record_made(ThreadState& thread, std::uint32_t stream);
  // Callers of these two functions must hold the lock.
  std::uint32_t known_entry(std::size_t bucket, std::uint64_t handle, std::uint32_t context, std::uint32_t tid) const;
  std::uint32_t take_entry(std::uint32_t context);
  bool queue_marker(std::uint32_t stream, std::uint32_t ordinal);
  void note_completed(std::uint32_t stream, std::uint32_t ordinal);
  bool is_old(std::uint32_t stream, std::uint32_t completed) const;
  // Callers of these two functions must hold the lock. `link` is the chain link that refers to the entry.
  void retire(std::uint32_t stream);
  void end_life(std::uint32_t& link);
  bool reusable(std::uint32_t stream) const;
  // Returns kNone if no page is left, or kNotReady if the driver has not created the context yet.
  std::uint32_t new_page(std::uint32_t context);
  bool keep_words_private();
  bool register_page(std::uint32_t context, std::uint32_t page);

  struct Page {
    void take(std::uint32_t by) {
      context = by;
      used = 0;
      device = 0;
    }

    std::uint32_t context = 0;  // 1 + index; 0 if free
    std::uint32_t used = 0;     // entries taken
    // The page's address in its context; 0 without markers. Read without the lock, perhaps before it is registered.
    std::atomic<CUdeviceptr> device = 0;
  };
  CUdeviceptr device_page(std::uint32_t stream) const {
    return pages_[stream / kPerPage].device.load(std::memory_order_acquire);
  }

  // Every operation reads these members, so they come first.
  std::byte* streams_ = nullptr;
  std::atomic<std::byte*> markers_ = nullptr;  // in the area, unless they are private
  // version of the threads' caches; incremented when a handle may be reused
  std::atomic<std::uint32_t> generation_ = 1;
  std::atomic<int> captures_ = 0;
  wire::Markers mode_ = wire::Markers::sparse;
  bool records_streams_ = false;
  std::array<Page, kPages> pages_;

  AreaMap* area_ = nullptr;
  Interner* interner_ = nullptr;
  const DriverApi* driver_ = nullptr;
  Contexts contexts_;
  Mutex mutex_;
  Mutex held_mutex_;
  std::atomic<std::uint32_t> highest_ = 0;         // entries used so far
  std::array<std::uint32_t, kBuckets> buckets_{};  // heads of the chains: 1 + stream; 0 if empty
  std::array<std::uint32_t, wire::area::kStreams> next_{};
};

template <typename Visit>
void Streams::each_unfinished(Visit visit) {
  for (std::uint32_t i = 0; i < highest_; ++i) {
    if (!can_be_at_work(i)) continue;
    const std::uint32_t context_place = wire::load(entry(i), wire::stream::kContext);
    if (!contexts_.is_live(context_place) || finished(i, issued(i))) continue;
    const std::byte* context = contexts_.entry(context_place);
    visit(reinterpret_cast<CUcontext>(wire::load(context, wire::context::kHandle)),
          reinterpret_cast<CUstream>(wire::load(entry(i), wire::stream::kHandle)),
          wire::load(entry(i), wire::stream::kFlags), i);
  }
}

// Returns the slot for the thread's next record, and clears its serial. If the operation of the slot's old record has
// not finished, that record is kept elsewhere. The caller fills the slot, then calls publish().
[[gnu::hot]] std::byte* next_record(ThreadState& state, Streams& streams);

}  // namespace cudadiag::record
