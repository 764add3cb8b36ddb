#include "analyse/recorded_memory.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "analyse/stream_history.h"
#include "wire/intern.h"
#include "wire/operation.h"

namespace cudadiag::analyse {
namespace {

using session::Allocation;
using session::ProcessRecord;

bool is_live(const Allocation& allocation, std::uint64_t ticks) {
  return allocation.made <= ticks && (allocation.freed == 0 || allocation.freed > ticks);
}

bool was_freed(const Allocation& allocation, std::uint64_t ticks) {
  return allocation.freed != 0 && allocation.freed <= ticks;
}

// Returns earlier allocations of the kind of memory that the failed call requested.
std::vector<const Allocation*> rivals(const ProcessRecord& record, const session::FailedCall& error) {
  const bool host = wanted_host_memory(error);
  const auto device = session::device_of(record, error.context);
  std::vector<const Allocation*> found;
  for (const Allocation& allocation : record.allocations) {
    const bool wanted = host ? allocation.kind == wire::allocation::Kind::pinned ||
                                   allocation.kind == wire::allocation::Kind::registered
                             : wire::allocation::takes_device_memory(allocation.kind);
    const auto own = session::device_of(record, allocation.context);
    if (!wanted || (!host && device && own && own != device) || allocation.made > error.ticks) continue;
    found.push_back(&allocation);
  }
  return found;
}

}  // namespace

std::uint64_t past_end(std::uint64_t offset, const std::optional<std::uint64_t>& bytes, std::uint64_t size) {
  if (offset > size) return offset - size;
  const std::uint64_t room = size - offset;
  return bytes && *bytes > room ? *bytes - room : 0;
}

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
  std::ranges::stable_sort(freed, last);
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

bool reads_host_memory(const ProcessRecord& record) {
  return session::value_of(record, session::Property::pageable_access) == "1";
}

bool knows_all_allocations(const ProcessRecord& record) {
  const auto allocates = [](const session::GraphNode& node) { return node.type == wire::graph_node::kAllocation; };
  return record.dropped_allocations == 0 && std::ranges::none_of(record.graphs, [&](const session::Graph& graph) {
           return std::ranges::any_of(graph.nodes, allocates);
         });
}

bool wanted_host_memory(const session::FailedCall& error) {
  constexpr std::string_view kHostCalls[] = {"cuMemAllocHost", "cuMemHostAlloc", "cuMemHostRegister"};
  return std::ranges::any_of(kHostCalls, [&](std::string_view call) { return error.call.starts_with(call); });
}

std::vector<MemoryChange> memory_changes(const ProcessRecord& record, const session::FailedCall& error) {
  std::vector<std::tuple<std::uint64_t, bool, std::uint64_t>> steps;  // time, whether memory grew, bytes
  for (const Allocation* allocation : rivals(record, error)) {
    steps.emplace_back(allocation->made, true, allocation->bytes);
    if (!is_live(*allocation, error.ticks)) steps.emplace_back(allocation->freed, false, allocation->bytes);
  }
  std::ranges::sort(steps);
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
  std::ranges::stable_sort(use.holders, std::greater<>(), &MemoryHolder::bytes);
  return use;
}

namespace {

using session::Operation;

class CopiedBytes {
 public:
  CopiedBytes(const session::ProcessRecord& record, const Operation& launch, const AllocationMap& map)
      : record_(record), launch_(launch), map_(map), complete_since_(complete_since(record)) {
    for (const session::Arguments& each : record.arguments) kept_.try_emplace({each.thread, each.serial}, &each);
    if (const session::Arguments* given = kept(launch)) words_ = words_of(*given);
    for (const Operation& copy : record.operations) {
      const session::Arguments* contents = copy.kind == wire::operation::Kind::copy ? kept(copy) : nullptr;
      const session::Allocation* table = contents == nullptr ? nullptr : map.find(copy.destination).allocation;
      if (table == nullptr) continue;
      for (const auto& [at, word] : words_of(*contents)) {
        const session::Allocation* to = map.find(word).allocation;
        if (to != nullptr && to != table) points_to_.emplace(table, to);
      }
    }
  }

  std::optional<CopiedMemory> filled_by(const Operation& copy) const {
    if (!is_queued(copy) || copy.ticks >= launch_.ticks || copy.ticks < complete_since_) return std::nullopt;
    const session::Arguments* contents = kept(copy);
    if (contents == nullptr || contents->parameters.size() != 1 || copy.destination % 8 != 0) return std::nullopt;
    const Whereabouts where = map_.find(copy.destination);
    if (where.state != Whereabouts::State::live || where.allocation->made > copy.ticks) return std::nullopt;
    // The host writes managed memory without a call.
    if (!wire::allocation::takes_device_memory(where.allocation->kind) || may_copy_later(copy)) return std::nullopt;
    CopiedMemory memory{copy.destination, contents->parameters.front().bytes, where.allocation};
    for (const Operation& later : record_.operations) {
      if (later.ticks <= copy.ticks || !is_queued(later)) continue;
      if (later.ticks < launch_.ticks) {
        if (!apply(later, memory)) return std::nullopt;
        continue;
      }
      // Work that was queued after the launch may have run first, unless it is in the same stream.
      if (later.stream == launch_.stream) continue;
      CopiedMemory changed = memory;
      if (!apply(later, changed) || changed.bytes != memory.bytes) return std::nullopt;
    }
    return memory;
  }

  const Operation* last_writer(const session::Allocation& allocation) const {
    const Operation* last = nullptr;
    for (const Operation& operation : record_.operations) {
      const bool earlier = operation.ticks < launch_.ticks && operation.ticks >= allocation.made;
      const bool later_than_last = last == nullptr || operation.ticks > last->ticks;
      if (earlier && later_than_last && is_queued(operation) && may_write(operation, allocation)) last = &operation;
    }
    const bool known = last != nullptr && last->ticks >= complete_since_ && last->kind != wire::operation::Kind::graph;
    return known ? last : nullptr;
  }

 private:
  bool may_write(const Operation& operation, const session::Allocation& allocation) const {
    switch (operation.kind) {
      case wire::operation::Kind::kernel:
        return may_change(operation, allocation);
      case wire::operation::Kind::copy:
      case wire::operation::Kind::memset:
        return operation.destination < allocation.address + allocation.bytes &&
               operation.destination + operation.argument > allocation.address;
      default:
        return operation.kind == wire::operation::Kind::graph;
    }
  }

  // The recorder reads the source in the call. The driver reads pinned memory later, and the program may change it
  // before that.
  bool may_copy_later(const Operation& copy) const {
    const session::Allocation* source = map_.find(copy.source).allocation;
    return source != nullptr && (copy.flags & wire::operation::kBlocking) == 0;
  }

  static bool is_queued(const Operation& operation) {
    return (operation.flags & wire::operation::kCaptured) == 0 && operation.result == 0;
  }

  const session::Arguments* kept(const Operation& operation) const {
    const auto found = kept_.find({operation.thread, operation.serial});
    return found == kept_.end() ? nullptr : found->second;
  }

  std::uint32_t function_of(const Operation& kernel) const {
    const session::Site* site = session::by_id(record_.sites, kernel.site);
    return site == nullptr ? 0 : site->function;
  }

  // Applies what the operation changed. Returns false if that is unknown.
  bool apply(const Operation& operation, CopiedMemory& memory) const {
    switch (operation.kind) {
      case wire::operation::Kind::kernel:
        return !may_change(operation, *memory.allocation);
      case wire::operation::Kind::copy:
      case wire::operation::Kind::memset:
        return apply_bytes(operation, memory);
      case wire::operation::Kind::memory_operation:
        return operation.argument + 8 <= memory.address || operation.argument >= memory.address + memory.bytes.size();
      case wire::operation::Kind::graph:
        return false;
      default:
        return true;
    }
  }

  using Words = std::map<std::uint32_t, std::uint64_t>;  // by byte offset among the parameters

  static Words words_of(const session::Arguments& arguments) {
    Words words;
    for (const session::Parameter& parameter : arguments.parameters) {
      for (std::size_t at = (8 - parameter.offset % 8) % 8; at + 8 <= parameter.bytes.size(); at += 8) {
        words.emplace(parameter.offset + static_cast<std::uint32_t>(at), number_at<std::uint64_t>(parameter.bytes, at));
      }
    }
    return words;
  }

  // A kernel may write backwards from the end of a memory, unless other memory begins there.
  bool lies_in(std::uint64_t word, const session::Allocation& allocation) const {
    if (word < allocation.address || word - allocation.address > allocation.bytes) return false;
    return word - allocation.address < allocation.bytes || map_.find(word).state != Whereabouts::State::live;
  }

  // Returns whether the kernel received an address in this allocation, or may have received one, perhaps in memory that
  // a recorded copy filled. An earlier launch of the failed kernel does not count if it received the address in the
  // same words, because the caller knows what the kernel's code writes through them.
  bool may_change(const Operation& kernel, const session::Allocation& allocation) const {
    const session::Arguments* given = kept(kernel);
    if (given == nullptr || (given->flags & wire::intern::kCut) != 0) return true;
    const bool same = function_of(kernel) == function_of(launch_);
    for (const auto& [at, word] : words_of(*given)) {
      const auto mine = words_.find(at);
      if (same && mine != words_.end() && lies_in(word, allocation) && lies_in(mine->second, allocation)) continue;
      if (lies_in(word, allocation)) return true;
      std::set<const session::Allocation*> seen;
      if (!same && leads_to(map_.find(word).allocation, allocation, seen)) return true;
    }
    return false;
  }

  bool leads_to(const session::Allocation* from, const session::Allocation& to,
                std::set<const session::Allocation*>& seen) const {
    if (from == nullptr || !seen.insert(from).second) return false;
    const auto [begin, end] = points_to_.equal_range(from);
    return std::any_of(begin, end,
                       [&](const auto& each) { return each.second == &to || leads_to(each.second, to, seen); });
  }

  bool apply_bytes(const Operation& write, CopiedMemory& memory) const {
    const std::uint64_t begin = std::max(memory.address, write.destination);
    const std::uint64_t end = std::min(memory.address + memory.bytes.size(), write.destination + write.argument);
    if (write.destination == 0) return false;
    if (begin >= end) return true;
    const session::Arguments* contents = kept(write);
    if (contents == nullptr || contents->parameters.size() != 1 || may_copy_later(write)) return false;
    const std::string& bytes = contents->parameters.front().bytes;
    if (end - write.destination > bytes.size()) return false;
    memory.bytes.replace(begin - memory.address, end - begin, bytes, begin - write.destination, end - begin);
    return true;
  }

  const session::ProcessRecord& record_;
  const Operation& launch_;
  const AllocationMap& map_;
  const std::uint64_t complete_since_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, const session::Arguments*> kept_;  // by thread and serial
  Words words_;                                                                        // of the launch
  // Memory that recorded copies filled, and the memory to which the addresses in it point.
  std::multimap<const session::Allocation*, const session::Allocation*> points_to_;
};

}  // namespace

std::vector<CopiedMemory> copied_memory(const session::ProcessRecord& record, const Operation& launch,
                                        const AllocationMap& map) {
  const CopiedBytes contents(record, launch, map);
  std::vector<CopiedMemory> found;
  for (const Operation& operation : record.operations) {
    if (operation.kind != wire::operation::Kind::copy) continue;
    if (auto memory = contents.filled_by(operation)) found.push_back(std::move(*memory));
  }
  return found;
}

const Operation* last_writer(const session::ProcessRecord& record, const Operation& launch,
                             const session::Allocation& allocation, const AllocationMap& map) {
  return CopiedBytes(record, launch, map).last_writer(allocation);
}

}  // namespace cudadiag::analyse
