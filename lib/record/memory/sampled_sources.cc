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
bool CopySources::is_past(const Slot& slot) const {
  return slot.dropped.load() || progress_.finished(slot.place.stream, slot.place.ordinal);
}

void CopySources::release(Slot& slot) {
  comparer(slot).store(0);
  slot.state.store(State::free);
}

std::uint64_t CopySources::watch_sampled(Issuer issuer, Place place, const Sampled* sources, std::size_t count) {
  Site& site = memory_->sites[issuer.site % kSites];
  const std::uint16_t before = site.copies.fetch_add(1, std::memory_order_relaxed);
  if (before % every_ != 0 || site.held.load(std::memory_order_relaxed) != 0) return 0;
  // Threads that have ended, or make no calls, leave slots behind.
  for (Slot& each : memory_->slots) {
    if (each.state.load() != State::queued || each.compared.exchange(true)) continue;
    if (each.state.load() == State::queued && is_past(each)) release(each);
    each.compared.store(false);
  }
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
  for (std::size_t i = 0; i < std::min(count, kMostSampled); ++i) {
    if (!reach_.is_free(progress_, sources[i].rows.address, sources[i].rows.end())) continue;
    slot->sources[slot->count] = sources[i];
    rows[slot->count++] = sources[i].rows;
  }
  if (slot->count > 0 && slot->snapshot.take(rows, slot->count, true)) return slot->number;
  slot->state.store(State::free);
  return 0;
}

void CopySources::issued(std::uint64_t number, Place place, bool marked) {
  for (Slot& slot : memory_->slots) {
    if (slot.state.load() != State::taken || slot.number != number) continue;
    const bool same = place.stream == slot.place.stream && place.ordinal == slot.place.ordinal;
    if (same && marked) comparer(slot).store(slot.issuer.thread + 1u);
    return slot.state.store(same && marked ? State::queued : State::free);
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
  if (is_past(slot)) return release(slot);
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
  if (is_past(slot) || reach_.reached_since(slot.since, source->rows.address, source->rows.end())) return release(slot);
  memory_->sites[slot.issuer.site % kSites].held.store(1, std::memory_order_relaxed);
  Change& change = slot.change;
  change = {
      slot.number, found.begin, found.end,          found.bytes, false,   slot.snapshot.sampled(), false,
      0,           0,           slot.issuer.thread, true,        *source, slot.issuer.site,        slot.place.stream};
  // A change during a call was not made by this thread. Whether other threads ran is unknown: finding out needs files,
  // and an ordinary run must not open any here.
  if (at == At::enter) change.unchanged = slot.unchanged, change.changed = call.site;
  comparer(slot).store(0);
  changes_.fetch_add(1);
  slot.state.store(State::changed);
}

}  // namespace cudadiag::record
