#include "record/graphs/captured_memory.h"

#include <sys/uio.h>

#include <cerrno>

#include "record/stacks/unwinder.h"

namespace cudadiag::record {

using wire::race::Ended;

namespace {

enum class Word : std::uint8_t { same, other, unknown };

// Asks the kernel to read the word, because the stack may be unmapped at any time.
Word compare(std::uint64_t slot, std::uint64_t value) {
  std::uint64_t now = 0;
  const iovec local = {&now, sizeof now}, remote = {reinterpret_cast<void*>(slot), sizeof now};
  if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != static_cast<ssize_t>(sizeof now)) {
    return errno == EFAULT ? Word::other : Word::unknown;
  }
  return now == value ? Word::same : Word::other;
}

}  // namespace

// Finds the frame that contains the address. A frame lies between the place of the return address into it and that of
// the return address into its caller.
bool CapturedMemory::find_frame(std::uint64_t address, std::uintptr_t frame, Entry& entry) {
  std::array<UnwoundFrame, StackShape::kFrames> frames;
  bool truncated = false;
  const std::size_t count = unwind(frame, 0, 0, frames, truncated);
  for (std::size_t i = 0; i + 1 < count; ++i) {
    const std::uint64_t slot = frames[i + 1].slot;
    if (address <= frames[i].slot || address >= slot) continue;
    entry.slot = slot;
    entry.value = *reinterpret_cast<const std::uint64_t*>(slot);
    entry.frame = static_cast<std::uint32_t>(i + 1);
    entry.below = slot + sizeof slot - address;
    return return_address_at(slot) == frames[i + 1].return_address;
  }
  return false;
}

void CapturedMemory::met(ThreadState& thread, std::uint64_t address, std::uint32_t site, std::uintptr_t frame) {
  if (!thread.stack.has(frame) && !change_stack(thread, frame)) return;
  Entry found{};
  if (!thread.stack.has(address) || !thread.on_own_stack || address < frame || !find_frame(address, frame, found))
    return;
  const LockGuard lock(mutex_);
  for (const Entry& known : entries_) {
    const bool same =
        known.address == address && known.site == site && known.slot == found.slot && known.value == found.value;
    if (same && known.number.load() != 0 && known.how.load() == Ended::no) return;
  }
  Entry& entry = entries_[++newest_ % kMost];
  entry.number.store(0);
  entry.address = address;
  entry.site = site;
  entry.thread = thread.index;
  entry.slot = found.slot, entry.value = found.value;
  entry.frame = found.frame, entry.below = found.below;
  entry.how.store(Ended::no);
  entry.number.store(newest_);
}

CapturedMemory::Number CapturedMemory::find(std::uint64_t address, std::uint32_t site) const {
  Number newest = 0;
  for (const Entry& entry : entries_) {
    const Number number = entry.number.load();
    if (number > newest && entry.address == address && entry.site == site) newest = number;
  }
  return newest;
}

CapturedMemory::End CapturedMemory::end_of(Number number) {
  Entry& entry = entries_[number % kMost];
  if (number == 0 || entry.number.load() != number) return {};
  if (entry.slot != 0 && entry.how.load() == Ended::no) {
    if (compare(entry.slot, entry.value) == Word::other) entry.how.store(Ended::returned);
  }
  return {entry.how.load(), entry.frame, entry.below};
}

void CapturedMemory::thread_ended(const ThreadState& thread) {
  for (Entry& entry : entries_) {
    const bool on_it = entry.number.load() != 0 && entry.slot != 0 && entry.thread == thread.index;
    Ended lives = Ended::no;
    if (on_it) entry.how.compare_exchange_strong(lives, Ended::with_thread);
  }
}

}  // namespace cudadiag::record
