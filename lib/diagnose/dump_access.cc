#include "diagnose/dump_access.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "diagnose/facts/where_is.h"
#include "wire/names/core_dump.h"

namespace cudadiag::diagnose {
namespace {

using analyse::OperationArgument;
using State = analyse::Whereabouts::State;

class Join {
 public:
  Join(const DumpAccess& dump, const OperationArgument* argument, bool all_known)
      : dump_(dump), argument_(argument), all_known_(all_known && argument != nullptr) {
    const auto found = std::find_if(dump.parameters.begin(), dump.parameters.end(), [&](const BaseParameter& each) {
      return argument == nullptr || argument->word == each.word;
    });
    const bool one = dump.parameters.size() == 1 || argument != nullptr;
    if (found != dump.parameters.end() && one) parameter_ = &*found;
    through_ = through();
  }

  Access run() {
    Access access{.kind = dump_.kind, .space = dump_.space, .bytes = dump_.bytes};
    if (parameter_ != nullptr) {
      access.parameter = parameter_->number;
      access.parameter_byte = parameter_->byte;
      access.pointer = parameter_->value;
    }
    access.from_memory = dump_.from_memory;
    if (dump_.table) access.table = parameter_words(*dump_.table) + "'s memory";
    if (dump_.lanes.empty()) {
      access.relation = through_ ? where_is(std::nullopt, &*through_, false).relation : Relation::unknown;
      access.others = dump_.unknown;
    } else {
      count(access);
    }
    if (access.relation == Relation::unknown && !dump_.misaligned) judge_unknown(access);
    return access;
  }

 private:
  // Returns the pointer from which the addresses were computed, as the recording and the dump know it.
  std::optional<OperationArgument> through() const {
    if (parameter_ == nullptr) return std::nullopt;
    OperationArgument pointer = argument_ == nullptr ? OperationArgument() : *argument_;
    if (argument_ == nullptr || parameter_->value == 0u) pointer.pointer = parameter_->value;
    return pointer;
  }

  Placement placed(std::uint64_t address) const {
    if (dump_.misaligned) return misalignment(address, sass::alignment_of(dump_.bytes));
    if (dump_.space == sass::Space::shared) return where_in_shared(address, dump_.shared_bytes);
    if (dump_.space == sass::Space::local) return {};
    const bool comparable = through_ && through_->pointer && parameter_->value;
    // Without both values of the pointer, the address of another run says nothing about this memory.
    if (through_ && !comparable) return where_is(std::nullopt, &*through_, false);
    const auto here = static_cast<std::int64_t>(through_ ? address - *parameter_->value + *through_->pointer : address);
    return where_is(Reach{here, here, dump_.bytes}, through_ ? &*through_ : nullptr, all_known_);
  }

  // A bulk copy also needs an aligned size and an aligned address in shared memory. One of those may be misaligned
  // instead.
  bool may_be_misaligned_elsewhere() const { return dump_.misaligned && dump_.bytes == 0; }

  // Judges an address that is unknown or cannot be compared.
  void judge_unknown(Access& access) const {
    if (dump_.low > 0 && parameter_ == nullptr) {
      access.relation = Relation::null;
      access.threads = dump_.low;
      access.others = dump_.lanes.size() + dump_.unknown - dump_.low;
      access.address.reset();
      access.block.reset();
      access.thread.reset();
      return;
    }
    const auto* memory = argument_ == nullptr ? nullptr : argument_->where.allocation;
    // Accesses to live memory succeed. Memory that is freed while the kernel runs is an exception.
    access.outside = memory != nullptr && argument_->where.state == State::live && memory->freed == 0;
  }

  void count(Access& access) const {
    const LaneAddress* first = nullptr;
    Placement of_first;
    for (const LaneAddress& lane : dump_.lanes) {
      const Placement its = placed(lane.address);
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
    if (is_measured(access.relation))
      access.distance = of_first.distance;
    else
      access.farthest.reset();
    access.overflow = of_first.overflow;
  }

  const DumpAccess& dump_;
  const OperationArgument* argument_;
  const bool all_known_;
  const BaseParameter* parameter_ = nullptr;
  std::optional<OperationArgument> through_;
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

// Looks up addresses of a dump in the recording of the process that wrote the dump.
class Recorded {
 public:
  Recorded(const session::Process& process, const session::Operation& launch, const ResolveSite& resolve)
      : process_(process), resolve_(resolve), map_(process.record, launch.ticks) {}

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
  // and for live memory that contains a misaligned address. Otherwise, finds the nearest memory below a pointer that
  // was read from memory.
  void complete(Access& access) const {
    const bool global = access.space == sass::Space::global || access.space == sass::Space::generic;
    if (access.allocation || !access.address || !global) return;
    const OperationArgument address = at(*access.address);
    const bool found = (access.relation == Relation::unknown && address.where.state == State::freed) ||
                       (access.relation == Relation::misaligned && address.where.state == State::live);
    if (!found && access.from_memory && access.relation == Relation::unknown) return find_nearest(access);
    if (!found || is_of_host(address)) return;
    if (access.relation == Relation::unknown) access.relation = Relation::freed;
    access.allocation = allocation_of(address, process_, resolve_);
  }

 private:
  void find_nearest(Access& access) const {
    constexpr std::uint64_t kFarthest = std::uint64_t{1} << 36;
    const analyse::Whereabouts nearest = map_.below(*access.address);
    if (nearest.allocation == nullptr || *access.address - nearest.allocation->address > kFarthest) return;
    OperationArgument address;
    address.pointer = access.address;
    address.where = nearest;
    if (!is_of_host(address)) access.nearest = allocation_of(address, process_, resolve_);
  }

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

// Compares the distance from the pointer with the largest allocation of the process. An address that is farther away is
// outside of the pointer's memory, whichever it is. Does nothing if the pointer may point to freed memory.
void compare_with_largest(Access& access, const session::ProcessRecord& record) {
  const bool comparable = access.relation == Relation::unknown && !access.allocation && access.address &&
                          access.pointer.value_or(0) >= kLowestAddress && *access.pointer < kBeyondAddresses;
  const bool all_known = analyse::knows_all_allocations(record) && record.forgotten_allocations == 0 &&
                         std::ranges::none_of(record.allocations, [](const auto& each) { return each.freed != 0; });
  if (!comparable || !all_known || record.allocations.empty()) return;
  const auto largest = std::ranges::max(record.allocations, {}, &session::Allocation::bytes).bytes;
  const bool after = *access.address > *access.pointer;
  const std::uint64_t away = after ? *access.address - *access.pointer : *access.pointer - *access.address;
  if (away < largest) return;
  access.relation = after ? Relation::past_end : Relation::before;
  access.distance = access.farthest = away - largest;
}

// A recorded process that wrote the dump, and its failed launch. Both are null if the dump's process was not recorded.
struct Dumped {
  const session::Process* process = nullptr;
  const session::Operation* launch = nullptr;
};

Dumped dumped(const analyse::Failure& failure, const Device& device, const std::string& dump) {
  // The parameters of a kernel that was launched on the GPU are not recorded.
  if (!device.child.empty()) return {};
  if (device.of_first_run && !failure.candidates.empty())
    return {failure.process, failure.candidates.front().operation};
  const session::Process* again = failure.again_process;
  if (again == nullptr || failure.again == nullptr) return {};
  const auto name = wire::core_dump::file_name(static_cast<std::uint32_t>(again->pid), again->record.start_realtime);
  return std::filesystem::path(dump).filename() == name.text ? Dumped{again, failure.again} : Dumped{};
}

Access access_of(const DumpAccess& dump, const analyse::Failure& failure, const ResolveSite& resolve,
                 const Device& device, const std::string& file) {
  const analyse::OperationArguments given =
      device.child.empty() ? analyse::arguments_of(failure) : analyse::OperationArguments();
  const OperationArgument* argument = pointer_of(dump, given.arguments);
  const Dumped own = dumped(failure, device, file);
  std::optional<Recorded> recorded;
  std::optional<OperationArgument> parameter;
  if (own.process != nullptr) recorded.emplace(*own.process, *own.launch, resolve);
  if (recorded && argument == nullptr) parameter = recorded->parameter(dump);
  const session::Process* process = given.process;
  if (parameter) {
    argument = &*parameter;
    process = own.process;
  }
  const bool all_known = process != nullptr && analyse::knows_all_allocations(process->record);
  Access access = joined(dump, argument, all_known);
  if (argument != nullptr && argument->where.allocation != nullptr) {
    access.allocation = allocation_of(*argument, *process, resolve);
  }
  const auto is_table = [&](const OperationArgument& each) { return dump.table && each.word == dump.table->word; };
  const auto table = std::ranges::find_if(given.arguments, is_table);
  if (table != given.arguments.end() && table->where.state == State::live) {
    const session::Operation& launch =
        given.process == failure.again_process ? *failure.again : *failure.candidates.front().operation;
    add_last_write(access, *given.process, launch, *table->where.allocation, resolve);
  }
  recorded ? recorded->complete(access) : compare_with_largest(access, failure.process->record);
  return access;
}

}  // namespace

Access joined(const DumpAccess& dump, const OperationArgument* argument, bool all_known) {
  return Join(dump, argument, all_known).run();
}

void add_access(Diagnosis& report, const symbolize::DeviceTestimony& testimony,
                const std::vector<const analyse::Failure*>& failures, const ResolveSite& resolve) {
  if (!testimony.failure) return;
  const auto dump = dump_access(*testimony.failure, testimony.code);
  if (!dump) return;
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    Finding& finding = report.findings[i];
    if (!finding.device || finding.device->exception != testimony.failure->exception_name) continue;
    finding.access = access_of(*dump, *failures[i], resolve, *finding.device, testimony.dump);
    if (finding.access->written) finding.related.push_back({Role::written, *finding.access->written});
    return;
  }
}

}  // namespace cudadiag::diagnose
