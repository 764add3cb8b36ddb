#include "analyse/copied_memory.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "analyse/operation_arguments.h"
#include "analyse/record_horizon.h"
#include "wire/intern.h"
#include "wire/operation.h"

namespace cudadiag::analyse {
namespace {

using session::Operation;

class CopiedBytes {
 public:
  CopiedBytes(const session::ProcessRecord& record, const Operation& launch, const AllocationMap& map)
      : record_(record), launch_(launch), map_(map), complete_since_(complete_since(record)) {
    for (const session::Arguments& each : record.arguments) kept_.try_emplace({each.thread, each.serial}, &each);
  }

  std::optional<CopiedMemory> filled_by(const Operation& copy) const {
    if (!is_queued(copy) || copy.ticks >= launch_.ticks || copy.ticks < complete_since_) return std::nullopt;
    const session::Arguments* contents = kept(copy);
    if (contents == nullptr || contents->parameters.size() != 1 || copy.destination % 8 != 0) return std::nullopt;
    const Whereabouts where = map_.find(copy.destination);
    if (where.state != Whereabouts::State::live || where.allocation->made > copy.ticks) return std::nullopt;
    CopiedMemory memory{copy.destination, contents->parameters.front().bytes, where.allocation};
    for (const Operation& later : record_.operations) {
      if (later.ticks > copy.ticks && later.ticks < launch_.ticks && is_queued(later) && !apply(later, memory))
        return std::nullopt;
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
        return function_of(operation) != function_of(launch_) && is_given(operation, allocation);
      case wire::operation::Kind::copy:
      case wire::operation::Kind::memset:
        return operation.destination < allocation.address + allocation.bytes &&
               operation.destination + operation.argument > allocation.address;
      default:
        return operation.kind == wire::operation::Kind::graph;
    }
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
        return function_of(operation) == function_of(launch_) || !is_given(operation, *memory.allocation);
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

  // Returns whether the kernel received an address in this allocation, or may have received one.
  bool is_given(const Operation& kernel, const session::Allocation& allocation) const {
    const session::Arguments* given = kept(kernel);
    if (given == nullptr || (given->flags & wire::intern::kCut) != 0) return true;
    return std::ranges::any_of(given->parameters, [&](const session::Parameter& parameter) {
      for (std::size_t at = (8 - parameter.offset % 8) % 8; at + 8 <= parameter.bytes.size(); at += 8) {
        const std::uint64_t word = number_at<std::uint64_t>(parameter.bytes, at);
        if (word >= allocation.address && word - allocation.address < allocation.bytes) return true;
      }
      return false;
    });
  }

  bool apply_bytes(const Operation& write, CopiedMemory& memory) const {
    const std::uint64_t begin = std::max(memory.address, write.destination);
    const std::uint64_t end = std::min(memory.address + memory.bytes.size(), write.destination + write.argument);
    if (write.destination == 0) return false;
    if (begin >= end) return true;
    const session::Arguments* contents = kept(write);
    if (contents == nullptr || contents->parameters.size() != 1) return false;
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
