#include "diagnose/reruns/access.h"

#include <algorithm>
#include <limits>

#include "diagnose/causes/host_memory.h"
#include "diagnose/facts/relation.h"

namespace cudadiag::diagnose {
namespace {

using analyse::OperationArgument;
using State = analyse::Whereabouts::State;

constexpr std::uint64_t kNull = 64u << 10;

// How an address relates to the memory that the parameter pointed to.
struct Lying {
  Relation relation = Relation::unknown;
  std::uint64_t distance = 0;
  std::int64_t position = 0;  // offset from the beginning of the allocation
};

class Join {
 public:
  Join(const DumpAccess& dump, const OperationArgument* argument, bool all_known)
      : dump_(dump), argument_(argument), all_known_(all_known) {
    const auto found = std::find_if(dump.parameters.begin(), dump.parameters.end(), [&](const BaseParameter& each) {
      return argument == nullptr || argument->word == each.word;
    });
    const bool one = dump.parameters.size() == 1 || argument != nullptr;
    if (found != dump.parameters.end() && one) parameter_ = &*found;
  }

  Access run() {
    Access access{.kind = dump_.kind, .space = dump_.space, .bytes = dump_.bytes};
    if (parameter_ != nullptr) {
      access.parameter = parameter_->number;
      access.parameter_byte = parameter_->byte;
    }
    if (dump_.lanes.empty()) {
      access.relation = by_parameter();
      access.others = dump_.unknown;
      return access;
    }
    count(access);
    return access;
  }

 private:
  bool is_global() const { return dump_.space == sass::Space::global || dump_.space == sass::Space::generic; }

  // Returns the relation that holds for every address computed from the parameter. If the relation depends on the
  // address, returns `unknown`.
  Relation by_parameter() const {
    if (parameter_ == nullptr) return Relation::unknown;
    if (parameter_->value == 0u) return Relation::null;
    if (argument_ == nullptr) return Relation::unknown;
    if (argument_->pointer == 0u) return Relation::null;
    if (argument_->where.state == State::freed) return Relation::freed;
    return argument_->out_of_reach ? Relation::other_device : Relation::unknown;
  }

  Lying lying(std::uint64_t address) const {
    if (dump_.misaligned) {
      const std::uint64_t remainder = address % sass::alignment_of(dump_.bytes);
      return {remainder == 0 ? Relation::inside : Relation::misaligned, remainder, 0};
    }
    if (dump_.space == sass::Space::shared) {
      if (dump_.shared_bytes == 0) return {};
      if (address >= dump_.shared_bytes) return {Relation::past_end, address - dump_.shared_bytes, 0};
      return {Relation::inside, 0, 0};
    }
    if (!is_global()) return {};
    if (address < kNull && (parameter_ == nullptr || parameter_->value == 0u)) return {Relation::null, 0, 0};
    const Relation by_it = by_parameter();
    if (by_it != Relation::unknown) return {by_it, 0, 0};
    if (parameter_ != nullptr && parameter_->value && causes::host_memory_at(*parameter_->value) != nullptr) {
      return {Relation::host, 0, 0};
    }
    if (address < kLowestAddress) return {Relation::never_allocated, 0, 0};
    // The address is not computed from a parameter, so the kernel read this pointer from memory.
    if (parameter_ == nullptr && causes::host_memory_at(address) != nullptr) return {Relation::host, 0, 0};
    return in_allocation(address);
  }

  Lying in_allocation(std::uint64_t address) const {
    if (parameter_ == nullptr || !parameter_->value || argument_ == nullptr || !argument_->pointer) return {};
    if (argument_->where.allocation == nullptr)
      return {all_known_ ? Relation::never_allocated : Relation::unknown, 0, 0};
    const auto offset = static_cast<std::int64_t>(*argument_->pointer - argument_->where.allocation->address);
    const auto position = static_cast<std::int64_t>(address - *parameter_->value) + offset;
    const auto size = static_cast<std::int64_t>(argument_->where.bytes);
    if (position < 0) return {Relation::before, static_cast<std::uint64_t>(-position), position};
    if (position >= size) return {Relation::past_end, static_cast<std::uint64_t>(position - size), position};
    // The access begins inside the memory, but its last bytes are past the end.
    const std::int64_t end = position + static_cast<std::int64_t>(dump_.bytes);
    if (end > size) return {Relation::past_end, 0, position};
    return {Relation::inside, 0, position};
  }

  // A bulk copy also needs an aligned size and an aligned address in shared memory. One of those may be misaligned
  // instead.
  bool may_be_misaligned_elsewhere() const { return dump_.misaligned && dump_.bytes == 0; }

  // If a 32-bit index overflows, the address is off by 2^32 elements.
  bool is_overflow(const Lying& its) const {
    if (argument_ == nullptr || argument_->where.allocation == nullptr || dump_.bytes == 0) return false;
    constexpr std::int64_t kSlack = 4096;
    const std::int64_t wrapped = (std::int64_t{1} << 32) * dump_.bytes;
    const auto size = static_cast<std::int64_t>(argument_->where.bytes);
    if (its.distance <= static_cast<std::uint64_t>(kSlack) * dump_.bytes) return false;  // off by only a few elements
    if (its.relation == Relation::before) return its.position + wrapped >= 0 && its.position + wrapped < size;
    return its.relation == Relation::past_end && its.position - wrapped >= -kSlack * dump_.bytes &&
           its.position - wrapped < size;
  }

  void count(Access& access) const {
    const LaneAddress* first = nullptr;
    Lying of_first;
    for (const LaneAddress& lane : dump_.lanes) {
      const Lying its = lying(lane.address);
      if (its.relation == Relation::inside) continue;
      if (first == nullptr) {
        first = &lane;
        of_first = its;
        access.farthest = its.distance;
      }
      if (its.relation != of_first.relation) continue;
      ++access.threads;
      access.farthest = std::max(*access.farthest, its.distance);
    }
    access.others = dump_.lanes.size() - access.threads + dump_.unknown;
    if (first == nullptr) {
      access.relation = dump_.unknown == 0 && !may_be_misaligned_elsewhere() ? Relation::inside : Relation::unknown;
      access.threads = 0;
      if (dump_.unknown == 0) access.address = dump_.lanes.front().address;
      return;
    }
    access.address = first->address;
    access.block = first->block;
    access.thread = first->thread;
    access.relation = of_first.relation;
    const bool measured = of_first.relation == Relation::past_end || of_first.relation == Relation::before ||
                          of_first.relation == Relation::misaligned;
    if (measured) access.distance = of_first.distance;
    if (!measured) access.farthest.reset();
    access.overflow = is_overflow(of_first);
  }

  const DumpAccess& dump_;
  const OperationArgument* argument_;
  const bool all_known_;
  const BaseParameter* parameter_ = nullptr;
};

// Returns the pointer among the parameter words that add up to the address; null unless there is exactly one.
const OperationArgument* pointer_of(const DumpAccess& dump, const std::vector<OperationArgument>& arguments) {
  const OperationArgument* found = nullptr;
  for (const OperationArgument& argument : arguments) {
    if (!argument.word || !argument.pointer) continue;
    const bool among = std::any_of(dump.parameters.begin(), dump.parameters.end(),
                                   [&](const BaseParameter& each) { return each.word == *argument.word; });
    const bool is_pointer = argument.where.allocation != nullptr || dump.parameters.size() == 1;
    if (!among || !is_pointer) continue;
    if (found != nullptr) return nullptr;
    found = &argument;
  }
  return found;
}

// Looks up addresses from the first run's own dump in the recording. Both come from the same run, so the addresses
// agree.
class Recorded {
 public:
  // `failure` must have a candidate.
  Recorded(const analyse::Failure& failure, const ResolveSite& resolve)
      : process_(*failure.process),
        resolve_(resolve),
        map_(failure.process->record, failure.candidates.front().operation->ticks) {}

  // Returns the only parameter from which the address is computed, if it points to live memory. Needed for graph nodes,
  // because their parameters are not always recorded.
  std::optional<OperationArgument> parameter(const DumpAccess& dump) const {
    const BaseParameter* parameter = only_parameter(dump);
    if (parameter == nullptr || !parameter->value) return std::nullopt;
    OperationArgument argument = at(*parameter->value);
    if (argument.where.state != State::live || is_of_host(argument)) return std::nullopt;
    argument.word = parameter->word;
    return argument;
  }

  // Finds the memory by the address alone. This works for memory that was freed before the launch and not reused since,
  // and for live memory that contains a misaligned address.
  void complete(Access& access) const {
    const bool global = access.space == sass::Space::global || access.space == sass::Space::generic;
    if (access.allocation || !access.address || !global) return;
    const OperationArgument address = at(*access.address);
    const bool found = (access.relation == Relation::unknown && address.where.state == State::freed) ||
                       (access.relation == Relation::misaligned && address.where.state == State::live);
    if (!found || is_of_host(address)) return;
    if (access.relation == Relation::unknown) access.relation = Relation::freed;
    access.allocation = allocation_of(address, process_, resolve_);
  }

 private:
  OperationArgument at(std::uint64_t address) const {
    OperationArgument argument;
    argument.pointer = address;
    argument.where = map_.find(address);
    return argument;
  }

  static bool is_of_host(const OperationArgument& argument) {
    return argument.where.allocation->kind >= wire::allocation::Kind::pinned;
  }

  const session::Process& process_;
  const ResolveSite& resolve_;
  analyse::AllocationMap map_;
};

Access access_of(const DumpAccess& dump, const analyse::Failure& failure, const ResolveSite& resolve,
                 bool of_first_run) {
  const analyse::OperationArguments given = analyse::arguments_of(failure);
  const OperationArgument* argument = pointer_of(dump, given.arguments);
  std::optional<Recorded> recorded;
  std::optional<OperationArgument> parameter;
  if (of_first_run && !failure.candidates.empty()) recorded.emplace(failure, resolve);
  if (recorded && argument == nullptr) parameter = recorded->parameter(dump);
  const session::Process* process = given.process;
  if (parameter) {
    argument = &*parameter;
    process = failure.process;
  }
  const bool all_known = process != nullptr && analyse::knows_all_allocations(process->record);
  Access access = joined(dump, argument, all_known);
  if (argument != nullptr && argument->where.allocation != nullptr) {
    access.allocation = allocation_of(*argument, *process, resolve);
  }
  if (recorded) recorded->complete(access);
  return access;
}

}  // namespace

Access joined(const DumpAccess& dump, const OperationArgument* argument, bool all_known) {
  return Join(dump, argument, all_known).run();
}

void add_access(Diagnosis& report, const symbolize::DeviceTestimony& testimony,
                const std::vector<const analyse::Failure*>& failures, const ResolveSite& resolve) {
  if (!testimony.failure || testimony.failure->dumped == nullptr) return;
  const auto dump = dump_access(*testimony.failure->dumped, testimony.failure->code);
  if (!dump) return;
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    Finding& finding = report.findings[i];
    if (!finding.device || finding.device->exception != testimony.failure->exception) continue;
    finding.access = access_of(*dump, *failures[i], resolve, finding.device->of_first_run);
    return;
  }
}

}  // namespace cudadiag::diagnose
