#include "record/memory/copy_sources.h"

#include <cupti.h>
#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "record/output/area_map.h"

namespace cudadiag::record {

namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr int kMostPauses = 50'000;  // one second, with 20 µs per pause

// Waits while `word` is `value`, for at most `at_most` ns. Returns false if the kernel rejects the system call.
bool sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t value, std::uint64_t at_most) {
  const timespec limit = {0, static_cast<long>(at_most)};
  const long result = syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, &limit, nullptr, 0);
  return result == 0 || errno == EAGAIN || errno == EINTR || errno == ETIMEDOUT;
}

}  // namespace

CopySources::Memory* CopySources::map_memory() {
  if (!may_take_address_space(sizeof(Memory))) return nullptr;
  void* memory =
      mmap(nullptr, sizeof(Memory), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<Memory*>(memory);
}

void CopySources::start(const DriverApi& driver) {
  driver_ = &driver;
  if (driver.launch_host_func == nullptr || !driver.can_mark()) return;
  memory_ = map_memory();
  if (memory_ == nullptr) return;
  may_hold_.store(true);
  on_.store(true);
}

// ---- the thread that issues the copy

bool CopySources::due(std::uint32_t index) {
  Site& site = memory_->sites[index % kSites];
  const std::uint16_t before = site.copies.load(std::memory_order_relaxed);
  // Stays above kAlways once it has been reached, and then counts in a circle of kSeldom numbers.
  site.copies.store(static_cast<std::uint16_t>(before < 0xffff ? before + 1 : 0xffff - kSeldom + 1),
                    std::memory_order_relaxed);
  return before < kAlways || before % kSeldom == 0;
}

CopySources::Slot* CopySources::take_slot() {
  for (Slot& slot : memory_->slots) {
    State free = State::free;
    if (!slot.state.compare_exchange_strong(free, State::taken)) continue;
    // Another thread may have begun to compare the sources of the slot's previous copy.
    if (!slot.compared.load()) return &slot;
    slot.state.store(State::free);
  }
  return nullptr;
}

bool CopySources::queue(Slot& slot, CUstream stream, CUhostFn function) {
  const RelaxedCapture relaxed(*driver_);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (driver_->stream_is_capturing(stream, &status) != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE) {
    return false;
  }
  std::optional<DriverThreadSearch> search;
  if (!searched_.load(std::memory_order_relaxed) && !searched_.exchange(true)) search.emplace().begin();
  if (driver_->launch_host_func(stream, function, &slot) != CUDA_SUCCESS) return on_.store(false), false;
  if (search) {
    const DriverThreads found = search->found();
    for (std::size_t i = 0; i < found.ids.size(); ++i) driver_threads_[i].store(found.ids[i]);
  }
  return true;
}

// Returns the threads that run no code of the program.
DriverThreads CopySources::driver_threads() const {
  if (!may_hold_.load()) return {};  // the program may have host functions
  return {{driver_threads_[0].load(), driver_threads_[1].load()}};
}

std::uint64_t CopySources::watch(Issuer issuer, CUstream stream, const SourceRows* sources, std::size_t count,
                                 Until until) {
  if (!due(issuer.site)) return 0;
  Slot* slot = take_slot();
  if (slot == nullptr) return 0;
  slot->owner = this;
  slot->dropped.store(false);
  slot->parts.store(until == Until::end ? 2 : 1);
  slot->issuer = issuer;
  slot->effort = 0;
  slot->unchanged = slot->changed = 0;
  slot->change = {};
  const std::uint64_t number = slot->number = numbers_.fetch_add(1) + 1;
  if (slot->snapshot.take(sources, count, until == Until::end)) {
    comparer(*slot).store(issuer.thread + 1u);
    slot->state.store(State::queued);
    if (queue(*slot, stream, reached)) return number;
    comparer(*slot).store(0);
  }
  slot->state.store(State::free);
  return 0;
}

void CopySources::ends(std::uint64_t number, const CUstream* stream) {
  for (Slot& slot : memory_->slots) {
    const State state = slot.state.load();
    const bool meant = (state == State::queued || state == State::reading) && slot.number == number;
    if (meant && (stream == nullptr || !queue(slot, *stream, reached_end))) finish_part(slot);
  }
}

bool CopySources::compares(std::uint16_t thread) const {
  return on() && std::any_of(comparers_.begin(), comparers_.end(), [thread](const std::atomic<std::uint32_t>& each) {
           return each.load(std::memory_order_relaxed) == thread + 1u;
         });
}

void CopySources::compare_by(Issuer call, At at, bool issues) {
  const int error = errno;
  for (std::size_t i = 0; i < kSlots; ++i) {
    if (comparers_[i].load(std::memory_order_relaxed) != call.thread + 1u) continue;
    Slot& slot = memory_->slots[i];
    if (slot.compared.exchange(true)) continue;
    samples() ? compare_sampled(slot, call, at, issues) : compare_now(slot, call, at);
    slot.compared.store(false);
  }
  errno = error;
}

// Both sides write before they read, as in compare(): a slot that is dropped or finished is not compared, or its state
// does not change before this function has returned.
void CopySources::compare_now(Slot& slot, Issuer call, At at) {
  const State state = slot.state.load();
  const bool own = comparer(slot).load() == call.thread + 1u;
  if (!own || slot.dropped.load() || (state != State::queued && state != State::reading)) return;
  OtherThreads others;
  if (at == At::exit) others.begin(driver_threads());
  bool same = true;
  const bool read = call.site != 0 && slot.effort < kMostCompared && slot.snapshot.is_same(slot.effort, same);
  if (read && same) {
    if (at == At::exit) slot.unchanged = call.site, slot.others = others;
    return;
  }
  comparer(slot).store(0);
  slot.changed = call.site;
  slot.others_ran = slot.others.have_run();
  // A change during a call was not made by this thread.
  if (!read || at == At::exit) slot.unchanged = slot.changed = 0;
}

void CopySources::wake() {
  releases_.fetch_add(1);
  syscall(SYS_futex, &releases_, FUTEX_WAKE_PRIVATE, 1 << 30, nullptr, nullptr, 0);
}

// Both sides write before they read, so at least one of them sees the other's write. Either this thread sees a held
// stream, or the thread that holds the stream sees the wait.
void CopySources::wait_begins() {
  waiting_.fetch_add(1);
  if (holding_.load() > 0) wake();
}

void CopySources::hold_no_more() {
  may_hold_.store(false);
  if (holding_.load() > 0) wake();
}

void CopySources::forget(std::uint64_t begin, std::uint64_t end) {
  if (memory_ == nullptr) return;
  for (Slot& slot : memory_->slots) {
    const bool in_use = slot.state.load() != State::free || slot.compared.load();
    if (!in_use || !slot.snapshot.meets(begin, end)) continue;
    slot.dropped.store(true);
    if (holding_.load() > 0) wake();
    // A comparison takes less than a millisecond, unless its thread is not scheduled.
    const Uncancelled uncancelled;
    for (int i = 0; i < kMostPauses && (slot.state.load() == State::reading || slot.compared.load()); ++i) {
      const timespec moment = {0, 20'000};
      nanosleep(&moment, nullptr);
    }
  }
}

void CopySources::end() {
  on_.store(false);
  hold_no_more();
  forget_all();
}

bool CopySources::take_change(Change& change) {
  for (Slot& slot : memory_->slots) {
    State changed = State::changed;
    if (!slot.state.compare_exchange_strong(changed, State::taken)) continue;
    change = slot.change;
    changes_.fetch_sub(1);
    slot.state.store(State::free);
    return true;
  }
  return false;
}

// ---- the driver's thread

void CUDA_CB CopySources::reached(void* data) {
  Slot& slot = *static_cast<Slot*>(data);
  const int error = errno;
  slot.owner->look(slot);
  errno = error;
}

// Both sides write before they read: either compare() sees that the slot was dropped, or the dropping thread sees that
// compare() is reading.
bool CopySources::compare(Slot& slot, SourceSnapshot::Difference& difference) {
  slot.state.store(State::reading);
  const bool compared = !slot.dropped.load() && slot.snapshot.compare(difference);
  slot.state.store(State::queued);
  return compared;
}

bool CopySources::may_hold(const Slot& slot) const {
  return may_hold_.load() && waiting_.load() == 0 && !slot.dropped.load();
}

bool CopySources::hold(Slot& slot) {
  Site& site = memory_->sites[slot.issuer.site % kSites];
  if (!may_hold(slot) || held_.load() + kHold > kMostHeld ||
      site.held.load() * kMillisecond + kHold > kMostHeldAtSite) {
    return false;
  }
  const std::uint64_t began = nanoseconds(CLOCK_MONOTONIC), deadline = began + kHold;
  std::uint64_t now = began;
  holding_.fetch_add(1);
  const std::uint32_t releases = releases_.load();
  while (may_hold(slot) && releases_.load() == releases && now < deadline) {
    if (!sleep_while(releases_, releases, deadline - now)) break;
    now = nanoseconds(CLOCK_MONOTONIC);
  }
  holding_.fetch_sub(1);
  held_.fetch_add(now - began);
  site.held.fetch_add(static_cast<std::uint16_t>((now - began + kMillisecond - 1) / kMillisecond));
  return true;
}

void CUDA_CB CopySources::reached_end(void* data) {
  Slot& slot = *static_cast<Slot*>(data);
  const int error = errno;
  slot.owner->look_at_end(slot);
  errno = error;
}

void CopySources::look(Slot& slot) {
  SourceSnapshot::Difference before, after;
  const bool known = compare(slot, before);
  const bool held = known && hold(slot);
  const bool while_held = held && compare(slot, after) && after.since_last;
  const SourceSnapshot::Difference& found = while_held ? after : before;
  if (known && found.bytes != 0) {
    slot.change = {slot.number, found.begin, found.end, found.bytes, while_held, slot.snapshot.sampled(),
                   false,       0,           0,         0,           false};
  }
  finish_part(slot);
}

void CopySources::look_at_end(Slot& slot) {
  SourceSnapshot::Difference found;
  if (slot.change.bytes == 0 && compare(slot, found) && found.bytes != 0) {
    slot.change = {slot.number, found.begin, found.end, found.bytes, false, slot.snapshot.sampled(),
                   true,        0,           0,         0,           false};
  }
  finish_part(slot);
}

// Called on the thread that runs host functions.
bool CopySources::excepted_rightly(const DriverThreads& except) const {
  if (!except.any()) return true;
  return may_hold_.load() && (except.ids[0] == 0 || except.ids[0] == thread_id());
}

// Does not wait long for the issuing thread, which may not be scheduled. What that thread saw then stays unknown.
void CopySources::end_comparisons(Slot& slot) {
  comparer(slot).store(0);
  bool free = !slot.compared.exchange(true);
  for (int i = 0; i < 50 && !free; ++i) {
    const timespec moment = {0, 20'000};
    nanosleep(&moment, nullptr);
    free = !slot.compared.exchange(true);
  }
  if (!free) return;
  slot.change.unchanged = slot.unchanged, slot.change.changed = slot.changed;
  slot.change.thread = slot.issuer.thread;
  // Without a second call, this is unknown.
  slot.change.others_ran = slot.changed == 0 || slot.others_ran || !excepted_rightly(slot.others.except());
  slot.compared.store(false);
}

// Called by each host function at its end, or instead of a host function that never runs.
void CopySources::finish_part(Slot& slot) {
  if (slot.parts.fetch_sub(1) > 1) return;
  end_comparisons(slot);
  if (slot.change.bytes == 0) return slot.state.store(State::free);
  changes_.fetch_add(1);
  slot.state.store(State::changed);
}

namespace {

// Excludes write-combined memory, because reading it is slow. Excludes device registers, because reading them can have
// side effects.
bool may_be_read(std::uint32_t id, const void* parameters) {
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocHost_v2:
      return true;
    case CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc:
      return (static_cast<const cuMemHostAlloc_params*>(parameters)->Flags & CU_MEMHOSTALLOC_WRITECOMBINED) == 0;
    case CUPTI_DRIVER_TRACE_CBID_cuMemHostRegister_v2:
      return (static_cast<const cuMemHostRegister_v2_params*>(parameters)->Flags & CU_MEMHOSTREGISTER_IOMEMORY) == 0;
    default:
      return false;
  }
}

}  // namespace

std::size_t PinnedRanges::after(std::uint64_t address) const {
  const auto* end = ranges_.data() + count_;
  const auto* found = std::upper_bound(ranges_.data(), end, address,
                                       [](std::uint64_t value, const Range& range) { return value < range.begin; });
  return static_cast<std::size_t>(found - ranges_.data());
}

void PinnedRanges::made(std::uint32_t id, const void* parameters, std::uint64_t begin, std::uint64_t bytes) {
  if (may_be_read(id, parameters)) add(begin, bytes);
}

void PinnedRanges::add(std::uint64_t begin, std::uint64_t bytes) {
  if (bytes == 0 || begin + bytes < begin) return;
  const LockGuard lock(mutex_);
  const std::size_t at = after(begin);
  if (at > 0 && ranges_[at - 1].begin == begin) {
    ranges_[at - 1].end = begin + bytes;
    return;
  }
  if (count_ == kMost) return;
  std::copy_backward(ranges_.data() + at, ranges_.data() + count_, ranges_.data() + count_ + 1);
  ranges_[at] = {begin, begin + bytes};
  ++count_;
}

bool PinnedRanges::join(std::uint64_t begin, std::uint64_t end) {
  const LockGuard lock(mutex_);
  std::size_t first = after(begin);
  if (first > 0 && ranges_[first - 1].end >= begin) --first;
  std::size_t last = first;  // the first range after those that the new one meets
  for (; last < count_ && ranges_[last].begin <= end; ++last) {
    begin = std::min(begin, ranges_[last].begin);
    end = std::max(end, ranges_[last].end);
  }
  if (first == last && count_ == kMost) return false;
  Range* const ranges = ranges_.data();
  if (first == last) {
    std::copy_backward(ranges + first, ranges + count_, ranges + count_ + 1);
  } else {
    std::copy(ranges + last, ranges + count_, ranges + first + 1);
  }
  count_ = count_ + 1 - (last - first);
  ranges_[first] = {begin, end};
  return true;
}

// The ranges of join() do not overlap.
bool PinnedRanges::meet(std::uint64_t begin, std::uint64_t end) const {
  const LockGuard lock(mutex_);
  const std::size_t at = after(end - 1);
  return at > 0 && begin < ranges_[at - 1].end;
}

std::uint64_t PinnedRanges::gone(std::uint64_t begin) {
  const LockGuard lock(mutex_);
  const std::size_t at = after(begin);
  if (at == 0 || ranges_[at - 1].begin != begin) return begin;
  const std::uint64_t end = ranges_[at - 1].end;
  std::copy(ranges_.data() + at, ranges_.data() + count_, ranges_.data() + at - 1);
  --count_;
  return end;
}

void PinnedRanges::clear() {
  const LockGuard lock(mutex_);
  count_ = 0;
}

std::uint64_t PinnedRanges::end_around(std::uint64_t address) const {
  const LockGuard lock(mutex_);
  const std::size_t at = after(address);
  return at > 0 && address < ranges_[at - 1].end ? ranges_[at - 1].end : 0;
}

namespace {

constexpr std::size_t kPage = 4096;  // the smallest page size

void note(SourceSnapshot::Difference& difference, std::uint64_t address) {
  if (difference.bytes == 0 || address < difference.begin) difference.begin = address;
  difference.end = std::max(difference.end, address + 1);
  ++difference.bytes;
}

}  // namespace

// Returns false if a part of the memory is not readable, or if the system forbids the call that reads pageable memory.
bool SourceSnapshot::read(std::uint64_t address, std::size_t bytes, std::byte* to) const {
  if (pageable_) {
    const iovec local = {to, bytes}, remote = {reinterpret_cast<void*>(address), bytes};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
  }
  while (bytes > 0) {
    const std::size_t here = std::min(bytes, kPage - address % kPage);
    if (!is_readable(address & ~std::uint64_t{7})) return false;
    memcpy(to, reinterpret_cast<const void*>(address), here);
    address += here, to += here, bytes -= here;
  }
  return true;
}

void SourceSnapshot::add(std::uint64_t address, std::uint64_t bytes, std::size_t source) {
  low_ = count_ == 0 ? address : std::min(low_, address);
  high_ = count_ == 0 ? address + bytes : std::max(high_, address + bytes);
  bytes_ += bytes;
  pieces_[count_++] = {address, static_cast<std::uint32_t>(bytes), static_cast<std::uint32_t>(source)};
}

void SourceSnapshot::choose_all(const SourceRows* sources, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    for (std::uint64_t row = 0; row < sources[i].rows; ++row) {
      add(sources[i].address + row * sources[i].pitch, sources[i].width, i);
    }
  }
}

// `total` is the number of bytes in all sources, without the gaps between rows.
void SourceSnapshot::choose_samples(const SourceRows* sources, std::size_t count, std::uint64_t total) {
  const std::uint64_t last = total - (total > kRoom ? kSample : 1);
  std::size_t source = 0;
  std::uint64_t before = 0;  // total bytes of the sources in front of `source`
  for (std::uint64_t i = 0; i < kSamples; ++i) {
    const std::uint64_t wanted = last / (kSamples - 1) * i + last % (kSamples - 1) * i / (kSamples - 1);
    while (source + 1 < count && wanted - before >= sources[source].width * sources[source].rows) {
      before += sources[source].width * sources[source].rows;
      ++source;
    }
    const SourceRows& from = sources[source];
    const std::uint64_t row = (wanted - before) / from.width, column = (wanted - before) % from.width;
    add(from.address + row * from.pitch + column, std::min<std::uint64_t>(kSample, from.width - column), source);
  }
}

bool SourceSnapshot::take(const SourceRows* sources, std::size_t count, bool apart) {
  count_ = bytes_ = 0;
  apart_ = apart;
  pageable_ = std::any_of(sources, sources + count, [](const SourceRows& each) { return each.pageable; });
  compared_ = false;
  std::uint64_t total = 0, rows = 0;
  for (std::size_t i = 0; i < count; ++i) {
    total += sources[i].width * sources[i].rows;
    rows += sources[i].rows;
  }
  if (total == 0) return false;
  sampled_ = total > kRoom || rows > kMostPieces;
  sampled_ ? choose_samples(sources, count, total) : choose_all(sources, count);
  std::byte* to = first_;
  for (std::size_t i = 0; i < count_; to += pieces_[i++].bytes) {
    if (!read(pieces_[i].address, pieces_[i].bytes, to)) return false;
  }
  return true;
}

bool SourceSnapshot::compare(Difference& difference) {
  difference = {};
  std::byte now[kPage];
  std::size_t at = 0;
  std::uint32_t only = 0;  // the source whose changes are reported, once there are any
  for (std::size_t i = 0; i < count_; ++i) {
    for (std::size_t done = 0; done < pieces_[i].bytes;) {
      const std::size_t here = std::min(pieces_[i].bytes - done, kPage);
      const std::uint64_t address = pieces_[i].address + done;
      if (!read(address, here, now)) return false;
      const std::byte *first = first_ + at, *last = compared_ ? last_ + at : first;
      const bool moved = memcmp(now, last, here) != 0;
      if (difference.bytes == 0) only = pieces_[i].source;
      const bool counts = !apart_ || pieces_[i].source == only;
      difference.since_last |= moved && counts;
      if (counts && (moved || memcmp(now, first, here) != 0)) {
        for (std::size_t k = 0; k < here; ++k) {
          if (now[k] != first[k] || now[k] != last[k]) note(difference, address + k);
        }
      }
      memcpy(last_ + at, now, here);
      done += here, at += here;
    }
  }
  compared_ = true;
  return true;
}

bool SourceSnapshot::is_same(std::size_t& effort, bool& same) const {
  same = true;
  if (count_ > kMostPieces / 2) return false;  // each piece costs a system call
  const std::size_t gap = bytes_ <= kPart * kMostParts ? 0 : bytes_ / kMostParts - kPart;
  std::byte now[kPart];
  std::size_t at = 0, next = 0;  // `next`: where the next part begins
  for (std::size_t i = 0; i < count_; ++i) {
    for (std::size_t done = 0; done < pieces_[i].bytes;) {
      std::size_t here = pieces_[i].bytes - done;
      if (at < next) {
        here = std::min(here, next - at);
      } else {
        here = std::min(here, kPart);
        effort += here + kEffortOfRead;
        if (!read(pieces_[i].address + done, here, now)) return false;
        same = memcmp(now, first_ + at, here) == 0;
        if (!same) return true;
        next = at + here + gap;
      }
      done += here, at += here;
    }
  }
  return true;
}

}  // namespace cudadiag::record
