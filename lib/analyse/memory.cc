#include "analyse/memory.h"

#include <algorithm>
#include <string_view>
#include <tuple>

namespace cudadiag::analyse {
namespace {

using session::Allocation;
using session::ProcessRecord;

constexpr std::uint32_t kNone = wire::allocation::kNone;

bool is_live(const Allocation& allocation, std::uint64_t ticks) {
  return allocation.made <= ticks && (allocation.freed == 0 || allocation.freed > ticks);
}

bool was_freed(const Allocation& allocation, std::uint64_t ticks) {
  return allocation.freed != 0 && allocation.freed <= ticks;
}

std::uint32_t device_of(const ProcessRecord& record, std::uint32_t context) {
  return context < record.contexts.size() ? record.contexts[context].device : kNone;
}

// Returns earlier allocations of the kind of memory that the failed call requested.
std::vector<const Allocation*> rivals(const ProcessRecord& record, const session::FailedCall& error) {
  const bool host = wanted_host_memory(error);
  const std::uint32_t device = device_of(record, error.context);
  std::vector<const Allocation*> found;
  for (const Allocation& allocation : record.allocations) {
    const bool wanted = host ? allocation.kind == wire::allocation::Kind::pinned ||
                                   allocation.kind == wire::allocation::Kind::registered
                             : wire::allocation::takes_device_memory(allocation.kind);
    const std::uint32_t own = device_of(record, allocation.context);
    if (!wanted || (!host && device != kNone && own != kNone && own != device) || allocation.made > error.ticks)
      continue;
    found.push_back(&allocation);
  }
  return found;
}

}  // namespace

AllocationMap::AllocationMap(const ProcessRecord& record, std::uint64_t ticks) {
  std::vector<const Allocation*> live, freed;
  for (const Allocation& allocation : record.allocations) {
    if (allocation.bytes == 0) continue;
    if (is_live(allocation, ticks)) live.push_back(&allocation);
    if (was_freed(allocation, ticks)) freed.push_back(&allocation);
  }
  const auto last = [](const Allocation* a, const Allocation* b) {
    return std::tie(a->freed, a->serial) < std::tie(b->freed, b->serial);
  };
  std::stable_sort(freed.begin(), freed.end(), last);
  for (const Allocation* allocation : live) {
    assign(live_, *allocation);
    ends_.emplace(allocation->address + allocation->bytes, allocation);
  }
  for (const Allocation* allocation : freed) assign(freed_, *allocation);
}

// Adds an allocation, and replaces the parts of older allocations that it overlaps. Live allocations overlap only in a
// damaged recording. Freed allocations may overlap, because CUDA reuses addresses.
void AllocationMap::assign(Pieces& pieces, const Allocation& allocation) {
  const std::uint64_t begin = allocation.address, end = begin + allocation.bytes;
  auto at = pieces.lower_bound(begin);
  if (at != pieces.begin() && std::prev(at)->second.end > begin) {
    Piece& before = std::prev(at)->second;
    if (before.end > end) pieces.emplace(end, before);
    before.end = begin;
  }
  at = pieces.lower_bound(begin);
  while (at != pieces.end() && at->first < end) {
    if (at->second.end > end) pieces.emplace(end, at->second);
    at = pieces.erase(at);
  }
  pieces[begin] = {end, &allocation};
}

const Allocation* AllocationMap::in(const Pieces& pieces, std::uint64_t address) {
  const auto after = pieces.upper_bound(address);
  if (after == pieces.begin()) return nullptr;
  const Piece& piece = std::prev(after)->second;
  return address < piece.end ? piece.allocation : nullptr;
}

Whereabouts AllocationMap::below(std::uint64_t address) const {
  const auto after = live_.upper_bound(address);
  if (after == live_.begin()) return {};
  const Allocation* allocation = std::prev(after)->second.allocation;
  return {Whereabouts::State::live, allocation, extent(*allocation)};
}

// An allocator may map memory in pieces, and hand out blocks that span several of them. Adjacent mappings are therefore
// treated as one allocation.
std::uint64_t AllocationMap::extent(const Allocation& allocation) const {
  std::uint64_t end = allocation.address + allocation.bytes;
  if (allocation.kind != wire::allocation::Kind::mapped) return allocation.bytes;
  for (auto next = live_.find(end); next != live_.end(); next = live_.find(end)) {
    if (next->second.allocation->kind != wire::allocation::Kind::mapped || next->second.end <= end) break;
    end = next->second.end;
  }
  return end - allocation.address;
}

Whereabouts AllocationMap::find(std::uint64_t address) const {
  using State = Whereabouts::State;
  if (const Allocation* allocation = in(live_, address)) return {State::live, allocation, extent(*allocation)};
  if (const Allocation* allocation = in(freed_, address)) return {State::freed, allocation, allocation->bytes};
  const auto after = ends_.upper_bound(address);
  if (after == ends_.begin()) return {};
  const auto& [end, allocation] = *std::prev(after);
  return address - end <= kPastEnd ? Whereabouts{State::past_end, allocation, allocation->bytes} : Whereabouts{};
}

bool wanted_host_memory(const session::FailedCall& error) {
  constexpr std::string_view kHostCalls[] = {"cuMemAllocHost", "cuMemHostAlloc", "cuMemHostRegister"};
  return std::any_of(std::begin(kHostCalls), std::end(kHostCalls),
                     [&](std::string_view call) { return error.call.starts_with(call); });
}

std::vector<MemoryChange> memory_changes(const ProcessRecord& record, const session::FailedCall& error) {
  std::vector<std::tuple<std::uint64_t, bool, std::uint64_t>> steps;  // time, whether memory grew, bytes
  for (const Allocation* allocation : rivals(record, error)) {
    steps.emplace_back(allocation->made, true, allocation->bytes);
    if (!is_live(*allocation, error.ticks)) steps.emplace_back(allocation->freed, false, allocation->bytes);
  }
  std::sort(steps.begin(), steps.end());
  std::vector<MemoryChange> changes;
  std::uint64_t now = 0;
  for (const auto& [ticks, grew, bytes] : steps) {
    now = grew ? now + bytes : now - std::min(now, bytes);
    changes.push_back({ticks, now});
  }
  return changes;
}

MemoryUse memory_use(const ProcessRecord& record, const session::FailedCall& error) {
  std::map<std::uint32_t, MemoryHolder> by_site;
  MemoryUse use;
  for (const Allocation* allocation : rivals(record, error)) {
    if (!is_live(*allocation, error.ticks)) continue;
    MemoryHolder& holder = by_site[allocation->site];
    holder.site = allocation->site;
    holder.bytes += allocation->bytes;
    ++holder.count;
    use.bytes += allocation->bytes;
  }
  for (const MemoryChange& change : memory_changes(record, error)) use.peak = std::max(use.peak, change.bytes);
  for (const auto& [site, holder] : by_site) use.holders.push_back(holder);
  std::stable_sort(use.holders.begin(), use.holders.end(),
                   [](const MemoryHolder& a, const MemoryHolder& b) { return a.bytes > b.bytes; });
  return use;
}

}  // namespace cudadiag::analyse
