#include "record/graphs/graph_host_memory.h"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

#include "wire/hash.h"

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

GraphHostMemory::Exec& GraphHostMemory::place(CUgraphExec exec) {
  return execs_[wire::mix(wire::kHashSeed, reinterpret_cast<std::uint64_t>(exec)) >> 20 & (kExecs - 1)];
}

GraphHostMemory::Exec* GraphHostMemory::find(CUgraphExec exec) {
  Exec& known = place(exec);
  return exec != nullptr && known.handle == exec ? &known : nullptr;
}

void GraphHostMemory::made(CUgraphExec exec, const Traits& traits) {
  const LockGuard lock(mutex_);
  Exec& known = place(exec);
  known.handle = exec;
  known.traits = traits;
  known.count = known.uses_count = 0;
}

void GraphHostMemory::reaches_host(CUgraphExec exec) {
  const LockGuard lock(mutex_);
  if (Exec* known = find(exec)) known->traits.reaches_host = true;
}

void GraphHostMemory::add(CUgraphExec exec, const HostSource& source) {
  const LockGuard lock(mutex_);
  Exec* known = find(exec);
  if (known != nullptr && known->count < kMostSources) known->sources[known->count++] = source;
}

HostSource GraphHostMemory::set(CUgraphExec exec, CUgraphNode node, const SourceRows& rows, std::uint32_t site) {
  const LockGuard lock(mutex_);
  Exec* known = find(exec);
  if (known == nullptr) return {};
  HostSource* end = known->sources.data() + known->count;
  HostSource* source =
      std::find_if(known->sources.data(), end, [&](const HostSource& each) { return each.node == node; });
  if (source == end) return {};
  source->rows = rows;
  source->site = site;
  return *source;
}

void GraphHostMemory::gone(CUgraphExec exec) {
  const LockGuard lock(mutex_);
  if (Exec* known = find(exec)) known->handle = nullptr;
}

void GraphHostMemory::add_use(CUgraphExec exec, const HostUse& use) {
  const LockGuard lock(mutex_);
  Exec* known = find(exec);
  if (known != nullptr && known->uses_count < kMostUses) known->uses[known->uses_count++] = use;
}

void GraphHostMemory::forget_uses(CUgraphExec exec, CUgraphNode node) {
  const LockGuard lock(mutex_);
  Exec* known = find(exec);
  for (std::uint32_t i = 0; known != nullptr && i < known->uses_count; ++i) {
    if (known->uses[i].node == node) known->uses[i].memory = 0;
  }
}

void GraphHostMemory::launched(CUgraphExec exec, Launched& to) {
  to.count = 0;
  to.traits = {};
  const LockGuard lock(mutex_);
  const Exec* known = find(exec);
  to.known = known != nullptr;
  if (known == nullptr) return;
  to.traits = known->traits;
  for (std::size_t i = 0; i < known->count; ++i) {
    const HostSource& source = known->sources[i];
    if (source.rows.width == 0) continue;
    to.sites[to.count] = source.site, to.nodes[to.count] = source.index;
    to.rows[to.count++] = source.rows;
  }
}

}  // namespace cudadiag::record
