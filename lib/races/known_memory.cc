#include "races/known_memory.h"

#include <algorithm>
#include <iterator>

#include "session/area/area_regions.h"
#include "wire/area.h"
#include "wire/stream.h"

namespace cudadiag::races {

namespace area = wire::area;

KnownMemory::KnownMemory(std::span<const std::byte> bytes)
    : area_(bytes), contexts_(session::AreaRegions(bytes).region(area::Region::contexts)) {}

const Memory* KnownMemory::at(std::uint64_t address) const {
  const auto after = by_address_.upper_bound(address);
  if (after == by_address_.begin()) return nullptr;
  const Memory& memory = std::prev(after)->second;
  return address - memory.begin < memory.bytes ? &memory : nullptr;
}

const Memory* KnownMemory::that_begins_at(std::uint64_t address) const {
  const auto found = by_address_.find(address);
  return found == by_address_.end() ? nullptr : &found->second;
}

void KnownMemory::made(Memory memory, std::uint32_t context) {
  auto at = by_address_.upper_bound(memory.begin);
  if (at != by_address_.begin()) {
    const Memory& before = std::prev(at)->second;
    if (before.begin + before.bytes > memory.begin) --at;
  }
  while (at != by_address_.end() && at->first < memory.begin + memory.bytes) at = by_address_.erase(at);
  memory.context = home_of(memory.kind, context);
  by_address_[memory.begin] = memory;
}

void KnownMemory::read_table() {
  namespace a = wire::allocation;
  const auto table = session::AreaRegions(area_).region(area::Region::allocations);
  const std::uint64_t used = std::min<std::uint64_t>(wire::load_acquire(area_.data(), area::kAllocationsUsed),
                                                     table.size() / area::kAllocationSize);
  by_address_.clear();
  for (std::uint64_t i = 0; i < used; ++i) {
    const auto copy = session::copy_serialised<area::kAllocationSize>(table.data() + i * area::kAllocationSize);
    if (!copy || wire::load(copy->data(), a::kFreed) != 0) continue;
    const std::uint64_t begin = wire::load(copy->data(), a::kAddress);
    const auto kind = static_cast<a::Kind>(wire::load(copy->data(), a::kKind));
    by_address_[begin] = {begin, wire::load(copy->data(), a::kBytes), wire::load(copy->data(), a::kSite), kind,
                          home_of(kind, wire::load(copy->data(), a::kContext))};
  }
}

std::uint32_t KnownMemory::context_uid(std::uint32_t index) const {
  if (index >= contexts_.size() / area::kContextSize) return 0;
  return wire::load(contexts_.data() + index * area::kContextSize, wire::context::kUid);
}

std::uint32_t KnownMemory::home_of(wire::allocation::Kind kind, std::uint32_t context) const {
  return wire::allocation::takes_device_memory(kind) ? context_uid(context) : 0;
}

}  // namespace cudadiag::races
