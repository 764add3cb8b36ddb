#include "record/memory/copy_sources.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "record/clock.h"
#include "record/output/unrecorded.h"
#include "record/uncancelled.h"

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

void CopySources::start(const DriverApi& driver) {
  driver_ = &driver;
  if (driver.launch_host_func == nullptr || !driver.can_mark() || !may_take_address_space(sizeof(Memory))) return;
  void* memory =
      mmap(nullptr, sizeof(Memory), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  memory_ = static_cast<Memory*>(memory);
  may_hold_.store(true);
  on_.store(true);
}

// ---- the thread that issues the copy

bool CopySources::due(std::uint32_t index) {
  Site& site = memory_->sites[index % kSites];
  const std::uint16_t before = site.copies.load(std::memory_order_relaxed);
  if (before < 0xffff) site.copies.store(static_cast<std::uint16_t>(before + 1), std::memory_order_relaxed);
  return before < kAlways || before % kSeldom == 0;
}

CopySources::Slot* CopySources::take_slot() {
  for (Slot& slot : memory_->slots) {
    State free = State::free;
    if (slot.state.compare_exchange_strong(free, State::taken)) return &slot;
  }
  return nullptr;
}

bool CopySources::queue(Slot& slot, CUstream stream) {
  const RelaxedCapture relaxed(*driver_);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (driver_->stream_is_capturing(stream, &status) != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE) {
    return false;
  }
  if (driver_->launch_host_func(stream, reached, &slot) == CUDA_SUCCESS) return true;
  on_.store(false);
  return false;
}

std::uint64_t CopySources::watch(std::uint32_t site, CUstream stream, const SourceRows* sources, std::size_t count) {
  if (!due(site)) return 0;
  Slot* slot = take_slot();
  if (slot == nullptr) return 0;
  slot->owner = this;
  slot->dropped.store(false);
  slot->site = site;
  const std::uint64_t number = slot->number = numbers_.fetch_add(1) + 1;
  if (slot->snapshot.take(sources, count)) {
    slot->state.store(State::queued);
    if (queue(*slot, stream)) return number;
  }
  slot->state.store(State::free);
  return 0;
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
    if (slot.state.load() == State::free || !slot.snapshot.meets(begin, end)) continue;
    slot.dropped.store(true);
    if (holding_.load() > 0) wake();
    // A comparison takes less than a millisecond, unless its thread is not scheduled.
    const Uncancelled uncancelled;
    for (int i = 0; i < kMostPauses && slot.state.load() == State::reading; ++i) {
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
  Site& site = memory_->sites[slot.site % kSites];
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

void CopySources::look(Slot& slot) {
  SourceSnapshot::Difference before, after;
  const bool known = compare(slot, before);
  const bool held = known && hold(slot);
  const bool while_held = held && compare(slot, after) && after.since_last;
  const SourceSnapshot::Difference& found = while_held ? after : before;
  if (!known || found.bytes == 0) return slot.state.store(State::free);
  slot.change = {slot.number, found.begin, found.end, found.bytes, while_held, slot.snapshot.sampled()};
  changes_.fetch_add(1);
  slot.state.store(State::changed);
}

}  // namespace cudadiag::record
