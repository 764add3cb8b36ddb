#include "diagnose/facts/address_relation.h"

#include <algorithm>

namespace cudadiag::diagnose {
namespace {

using analyse::OperationArgument;
using State = analyse::Whereabouts::State;

// The offsets of the first and last access from the beginning of the memory, and the memory's size.
struct Offsets {
  std::int64_t first, last, size;
};

bool is_overflow(Relation relation, const Offsets& at, std::int64_t distance, std::int64_t bytes) {
  constexpr std::int64_t kSlack = 4096;  // elements; an access that is off by fewer is not an overflow
  const std::int64_t wrap = (std::int64_t{1} << 32) * bytes;
  if (bytes == 0 || distance <= kSlack * bytes) return false;
  if (relation == Relation::before) return at.first + wrap >= 0 && at.first + wrap < at.size;
  return at.last - wrap >= -kSlack * bytes && at.last - wrap < at.size;
}

Placement outside(Relation relation, const Offsets& at, std::int64_t distance, std::int64_t bytes) {
  return {relation, static_cast<std::uint64_t>(distance), is_overflow(relation, at, distance, bytes)};
}

// Returns the relation of every address that is computed from this pointer; `unknown` if it depends on the address.
Relation by_pointer(const OperationArgument& through, const GpuMemory& memory) {
  if (through.pointer == 0u) return Relation::null;
  if (through.where.state == State::freed) return Relation::freed;
  if (through.out_of_reach) return Relation::other_device;
  const bool no_memory = through.where.allocation == nullptr && through.pointer;
  const bool host = no_memory && host_memory_at(*through.pointer, memory.reads_host) != nullptr;
  return host ? Relation::host : Relation::unknown;
}

}  // namespace

GpuMemory::GpuMemory(const session::ProcessRecord& record)
    : GpuMemory(analyse::knows_all_allocations(record), analyse::reads_host_memory(record)) {}

const char* host_memory_at(std::uint64_t address, bool reads_host) {
  if (reads_host) return nullptr;
  const std::uint64_t top = address >> 40;
  if (top == 0x55 || top == 0x56) return "heap";
  return address >= 0x7ffc'0000'0000 && address < 0x8000'0000'0000 ? "stack" : nullptr;
}

Placement where_is(const std::optional<AccessAddresses>& addresses, const OperationArgument* through,
                   const GpuMemory& memory) {
  if (through != nullptr) {
    if (const Relation relation = by_pointer(*through, memory); relation != Relation::unknown) return {relation};
  }
  if (!addresses) return {};
  const auto first = static_cast<std::uint64_t>(addresses->first), last = static_cast<std::uint64_t>(addresses->last);
  const bool has_memory = through != nullptr && through->where.allocation != nullptr;
  if (!has_memory && first >= kBeyondAddresses && last >= first) return {Relation::never_allocated};
  if (!has_memory && last < (memory.reads_host ? kNullPage : kLowestAddress))
    return {through == nullptr && first < kNullPage ? Relation::null : Relation::never_allocated};
  if (!has_memory && memory.reads_host) return {};
  const auto is_of_host = [](std::uint64_t address) { return host_memory_at(address, false) != nullptr; };
  if (through == nullptr) return {is_of_host(first) && is_of_host(last) ? Relation::host : Relation::unknown};
  if (!has_memory) return {memory.all_known ? Relation::never_allocated : Relation::unknown};
  return where_in(*addresses, through->where.allocation->address, through->where.bytes);
}

Placement where_in(const AccessAddresses& addresses, std::uint64_t begin, std::uint64_t size) {
  const auto first = static_cast<std::uint64_t>(addresses.first), last = static_cast<std::uint64_t>(addresses.last);
  const Offsets at{static_cast<std::int64_t>(first - begin), static_cast<std::int64_t>(last - begin),
                   static_cast<std::int64_t>(size)};
  const std::int64_t bytes = addresses.bytes;
  // The last bytes of an access count: the distance is then 0.
  if (at.last >= at.size || at.last + bytes > at.size)
    return outside(Relation::past_end, at, std::max<std::int64_t>(0, at.last - at.size), bytes);
  if (at.first < 0) return outside(Relation::before, at, -at.first, bytes);
  return {Relation::inside, 0, false};
}

Placement where_in_shared(std::uint64_t offset, std::uint32_t bytes) {
  if (bytes == 0) return {};
  const auto at = static_cast<std::int64_t>(offset);
  return where_in({at, at, 0}, 0, bytes);
}

Placement where_from(std::uint64_t pointer, std::uint64_t address, std::uint64_t most, const GpuMemory& memory) {
  if (!may_be_address(pointer) || !memory.all_known || memory.reads_host) return {};
  const bool after = address > pointer;
  const std::uint64_t away = after ? address - pointer : pointer - address;
  if (away < most) return {};
  return {after ? Relation::past_end : Relation::before, away - most};
}

Placement misalignment(std::uint64_t address, std::uint32_t alignment, std::int64_t step) {
  if (alignment < 2) return {};
  std::uint64_t off = address % alignment;
  if (off == 0) off = static_cast<std::uint64_t>(step) % alignment;
  return {off == 0 ? Relation::inside : Relation::misaligned, off};
}

}  // namespace cudadiag::diagnose
