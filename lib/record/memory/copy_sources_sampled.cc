// The sampled form of CopySources (copy_sources.h), which only compares at calls of the program.
#include <algorithm>

#include "record/memory/copy_sources.h"

namespace cudadiag::record {

namespace {

bool meet(const HostReach::Operation& operation, std::uint64_t begin, std::uint64_t end) {
  return operation.begin < end && begin < operation.end;
}

}  // namespace

// Work of one stream finishes in order, so the latest operation on the same bytes stands for the earlier ones.
void HostReach::add(const Progress& progress, const Operation& operation) {
  const LockGuard lock(mutex_);
  ++newest_;
  Entry* place = nullptr;
  for (Entry& each : entries_) {
    const Operation& known = each.operation;
    if (each.number != 0 && known.stream == operation.stream && known.begin == operation.begin &&
        known.end == operation.end) {
      each.operation.ordinal = std::max(known.ordinal, operation.ordinal);
      each.number = newest_;
      return;
    }
    const bool free = each.number == 0 || progress.finished(known.stream, known.ordinal);
    if (free && (place == nullptr || each.number < place->number)) place = &each;
  }
  if (place == nullptr) {
    full_ = true;
    return;
  }
  dropped_ = std::max(dropped_, place->number);
  *place = {operation, newest_};
}

std::uint64_t HostReach::now() const {
  const LockGuard lock(mutex_);
  return newest_;
}

bool HostReach::is_free(const Progress& progress, std::uint64_t begin, std::uint64_t end) const {
  const LockGuard lock(mutex_);
  return !full_ && std::none_of(entries_.begin(), entries_.end(), [&](const Entry& each) {
    return each.number != 0 && meet(each.operation, begin, end) &&
           !progress.finished(each.operation.stream, each.operation.ordinal);
  });
}

bool HostReach::reached_since(std::uint64_t now, std::uint64_t begin, std::uint64_t end) const {
  const LockGuard lock(mutex_);
  return full_ || dropped_ > now || std::any_of(entries_.begin(), entries_.end(), [&](const Entry& each) {
           return each.number > now && meet(each.operation, begin, end);
         });
}

void CopySources::sample(const Progress& progress, std::uint32_t every) {
  memory_ = map_memory();
  if (memory_ == nullptr) return;
  progress_ = progress;
  every_ = every;
  on_.store(true);
}

// Only a thread that has set `compared` changes the state of a slot that is in use, until it is `changed`.
void CopySources::release(Slot& slot, State next) {
  comparer(slot).store(0);
  watched_streams_[&slot - memory_->slots].store(0);
  slot.state.store(next);
}

// Ends the watch if the copy has finished, or if its change would prove nothing. Returns whether the watch has ended.
// An operation that let the copy begin was issued before the marker was written, so the marker is read first.
bool CopySources::settle(Slot& slot) {
  const bool finished = progress_.finished(slot.place.stream, slot.place.ordinal);
  const bool dropped = slot.dropped.load();
  if (!finished && !dropped) return false;
  const bool counts =
      !dropped && slot.change.bytes != 0 && memory_->sites[slot.issuer.site % kSites].held.exchange(1) == 0;
  if (!counts) return release(slot), true;
  changes_.fetch_add(1);
  release(slot, State::changed);
  return true;
}

void CopySources::settle_all() {
  for (Slot& each : memory_->slots) {
    if (each.state.load() != State::queued || each.compared.exchange(true)) continue;
    if (each.state.load() == State::queued) settle(each);
    each.compared.store(false);
  }
}

// Both sides write before they read: either this thread sees the watch, or watch_sampled() sees the operation.
void CopySources::others_issue(std::uint32_t stream) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (std::size_t i = 0; i < kSlots; ++i) {
    const std::uint32_t watched = watched_streams_[i].load(std::memory_order_relaxed);
    if (watched != 0 && watched != stream + 1) memory_->slots[i].dropped.store(true);
  }
}

bool CopySources::is_due(std::uint32_t index) {
  Site& site = memory_->sites[index % kSites];
  const std::uint16_t before = site.copies.fetch_add(1, std::memory_order_relaxed);
  return before % every_ == 0 && site.held.load(std::memory_order_relaxed) == 0;
}

std::uint64_t CopySources::watch_sampled(Issuer issuer, Place place, const Sampled* sources, std::size_t count) {
  settle_all();  // threads that have ended, or make no calls, leave slots behind
  Slot* slot = take_slot();
  if (slot == nullptr) return 0;
  slot->dropped.store(false);
  slot->issuer = issuer;
  slot->place = place;
  slot->effort = 0;
  slot->unchanged = slot->changed = 0;
  slot->change = {};
  slot->number = numbers_.fetch_add(1) + 1;
  SourceRows rows[kMostSampled];
  slot->count = 0;
  slot->since = reach_.now();
  watched_streams_[slot - memory_->slots].store(place.stream + 1);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!progress_.others_are_idle(place.stream)) return release(*slot), 0;
  for (std::size_t i = 0; i < std::min(count, kMostSampled); ++i) {
    if (!reach_.is_free(progress_, sources[i].rows.address, sources[i].rows.end())) continue;
    slot->sources[slot->count] = sources[i];
    rows[slot->count++] = sources[i].rows;
  }
  if (slot->count > 0 && slot->snapshot.take(rows, slot->count, true)) return slot->number;
  return release(*slot), 0;
}

void CopySources::issued(std::uint64_t number, Place place, bool marked) {
  for (Slot& slot : memory_->slots) {
    if (slot.state.load() != State::taken || slot.number != number) continue;
    const bool same = place.stream == slot.place.stream && place.ordinal == slot.place.ordinal;
    if (!same || !marked) return release(slot);
    comparer(slot).store(slot.issuer.thread + 1u);
    return slot.state.store(State::queued);
  }
}

// Kernels are issued too often for comparisons. The change may then have come before or after the kernel.
void CopySources::pass_by(std::uint16_t thread) {
  for (std::size_t i = 0; i < kSlots; ++i) {
    if (comparers_[i].load(std::memory_order_relaxed) == thread + 1u) memory_->slots[i].unchanged = 0;
  }
}

void CopySources::compare_sampled(Slot& slot, Issuer call, At at, bool issues) {
  if (slot.state.load() != State::queued || comparer(slot).load() != call.thread + 1u) return;
  if (settle(slot) || slot.change.bytes != 0) return;
  bool same = true;
  const bool whole = at == At::enter && !issues;
  if (slot.effort >= (whole ? kMostCompletely : kMostCompared)) return;
  if (!whole && !slot.snapshot.is_same(slot.effort, same)) return;
  SourceSnapshot::Difference found;
  if (!same || whole) {
    slot.effort += SourceSnapshot::kRoom;
    if (!slot.snapshot.compare(found)) return release(slot);
  }
  if (found.bytes == 0) {
    if (at == At::exit) slot.unchanged = call.site;
    return;
  }
  const Sampled* source = std::find_if(slot.sources, slot.sources + slot.count, [&](const Sampled& each) {
    return each.rows.address <= found.begin && found.end <= each.rows.end();
  });
  if (source == slot.sources + slot.count) return release(slot);
  // The bytes must be read before the marker, and before the list of operations that may have written them.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (settle(slot)) return;
  if (reach_.reached_since(slot.since, source->rows.address, source->rows.end())) return release(slot);
  Change& change = slot.change;
  change = {
      slot.number, found.begin, found.end,          found.bytes, false,   slot.snapshot.sampled(), false,
      0,           0,           slot.issuer.thread, true,        *source, slot.issuer.site,        slot.place.stream};
  // A change during a call was not made by this thread. Whether other threads ran is unknown: finding out needs files,
  // and an ordinary run must not open any here.
  if (at == At::enter) change.unchanged = slot.unchanged, change.changed = call.site;
}

}  // namespace cudadiag::record
