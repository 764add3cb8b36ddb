// Finds where the access of a GPU core dump, or of a replayed launch, lies in the memory that was recorded.
#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "diagnose/causes/case.h"
#include "diagnose/failure/failed_access.h"
#include "diagnose/failure/finding_builder.h"
#include "wire/cuda_codes.h"
#include "wire/pass_files.h"

namespace cudadiag::diagnose {
namespace {

using analyse::OperationArgument;
using State = analyse::Whereabouts::State;

// Places the addresses of an access relative to the memory that was meant.
class AddressPlacement {
 public:
  AddressPlacement(const DumpAccess& dump, const OperationArgument* argument, const GpuMemory& memory)
      : dump_(dump), argument_(argument), memory_(memory.all_known && argument != nullptr, memory.reads_host) {
    const auto found = std::ranges::find_if(
        dump.parameters, [&](const BaseParameter& each) { return argument == nullptr || argument->word == each.word; });
    const bool one = dump.parameters.size() == 1 || argument != nullptr;
    if (found != dump.parameters.end() && one) parameter_ = &*found;
    through_ = through();
  }

  Access result() {
    Access access{.kind = dump_.kind, .space = dump_.space, .bytes = dump_.bytes};
    if (parameter_ != nullptr) {
      access.parameter = parameter_->number;
      access.parameter_byte = parameter_->byte;
      access.pointer = parameter_->value;
    }
    if (const evidence::Variable* its = variable()) {
      access.variable = base::demangle(its->name);
      PointedMemory& memory = access.allocation.emplace();
      memory.address = its->address;
      memory.bytes = its->bytes;
      memory.offset = *parameter_->value - its->address;
    }
    access.from_memory = dump_.from_memory;
    if (dump_.table) access.table = parameter_words(*dump_.table) + (dump_.table->variable ? "" : "'s memory");
    if (dump_.lanes.empty()) {
      access.relation = through_ ? where_is(std::nullopt, &*through_, memory_).relation : Relation::unknown;
      access.others = dump_.unknown;
    } else {
      count(access);
    }
    if (access.relation == Relation::unknown && !dump_.misaligned && !any_unset_) judge_unknown(access);
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

  const evidence::Variable* variable() const {
    return parameter_ != nullptr && parameter_->variable ? &*parameter_->variable : nullptr;
  }

  Placement placed(std::uint64_t address) const {
    if (dump_.misaligned) return misalignment(address, sass::alignment_of(dump_.bytes));
    if (dump_.space == sass::Space::shared) return where_in_shared(address, dump_.shared_bytes);
    if (dump_.space == sass::Space::local) return {};
    if (const evidence::Variable* its = variable()) {
      const auto here = static_cast<std::int64_t>(address);
      return where_in({here, here, dump_.bytes}, its->address, its->bytes);
    }
    const bool comparable = through_ && through_->pointer && parameter_->value;
    // Without both values of the pointer, the address of another run says nothing about this memory.
    if (through_ && !comparable) return where_is(std::nullopt, &*through_, memory_);
    const auto here = static_cast<std::int64_t>(through_ ? address - *parameter_->value + *through_->pointer : address);
    return where_is(AccessAddresses{here, here, dump_.bytes}, through_ ? &*through_ : nullptr, memory_);
  }

  // A bulk copy also needs an aligned size and an aligned address in shared memory. One of those may be misaligned
  // instead.
  bool may_be_misaligned_elsewhere() const { return dump_.misaligned && dump_.bytes == 0; }

  // Judges an address that is unknown or cannot be compared.
  void judge_unknown(Access& access) const {
    if (dump_.low > 0 && parameter_ == nullptr) {
      access.relation = where_is(AccessAddresses{0, kLowestAddress - 1}, nullptr, memory_).relation;
      if (access.relation == Relation::unknown) return;
      access.threads = dump_.low;
      access.others = dump_.lanes.size() + dump_.unknown - dump_.low;
      access.address.reset();
      access.block.reset();
      access.thread.reset();
      return;
    }
    const auto* memory = argument_ == nullptr ? nullptr : argument_->where.allocation;
    if (variable() != nullptr) access.outside = true;
    if (memory == nullptr) return;
    // Accesses to live memory succeed. Memory that is freed while the kernel runs is an exception.
    access.outside = argument_->where.state == State::live && memory->freed == 0;
  }

  // Returns true if the address is null although the pointer is not. Most likely, the thread did not execute the
  // instruction, so the registers from which the address is computed still have an older value. If no other thread
  // failed, the code may have chosen between the pointer and null, so nothing is concluded.
  bool is_unset(const LaneAddress& lane) const {
    return lane.address == 0 && through_ && through_->pointer.value_or(0) != 0;
  }

  void count(Access& access) {
    const LaneAddress* first = nullptr;
    Placement of_first;
    any_unset_ = std::ranges::any_of(dump_.lanes, [&](const LaneAddress& lane) { return is_unset(lane); });
    for (const LaneAddress& lane : dump_.lanes) {
      if (is_unset(lane)) continue;
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
      const bool all_known = dump_.unknown == 0 && !any_unset_;
      access.relation = all_known && !may_be_misaligned_elsewhere() ? Relation::inside : Relation::unknown;
      access.threads = 0;
      if (all_known) access.address = dump_.lanes.front().address;
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
  const GpuMemory memory_;
  const BaseParameter* parameter_ = nullptr;
  std::optional<OperationArgument> through_;
  bool any_unset_ = false;  // see is_unset()
};

// Returns the pointer among the parameter words that add up to the address; null unless there is exactly one.
const OperationArgument* pointer_of(const DumpAccess& dump, const std::vector<OperationArgument>& arguments) {
  const OperationArgument* found = nullptr;
  for (const OperationArgument& argument : arguments) {
    if (!argument.word || !argument.pointer) continue;
    const bool among =
        std::ranges::any_of(dump.parameters, [&](const BaseParameter& each) { return each.word == *argument.word; });
    const bool is_pointer = argument.where.allocation != nullptr || dump.parameters.size() == 1;
    if (!among || !is_pointer) continue;
    if (found != nullptr) return nullptr;
    found = &argument;
  }
  return found;
}

// Looks up addresses of a dump in the recording of the process that wrote the dump.
class RecordedMemory {
 public:
  RecordedMemory(const session::Process& process, const session::Operation& launch, const ResolveSite& resolve)
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

  // Removes threads whose address lies in live memory, unless that memory may belong to another context.
  void leave_failing(DumpAccess& dump) const {
    if (process_.record.contexts.size() != 1) return;
    const auto lives = [&](const LaneAddress& lane) {
      const analyse::Whereabouts first = map_.find(lane.address);
      const analyse::Whereabouts last = map_.find(lane.address + std::max(dump.bytes, 1u) - 1);
      if (first.state != State::live || last.allocation != first.allocation) return false;
      // Mapped and registered memory may lack the right to write, and memory of another process may be gone.
      using wire::allocation::Kind;
      constexpr Kind kPlain[] = {Kind::device, Kind::managed, Kind::ordered, Kind::pinned};
      return first.allocation->freed == 0 && std::ranges::find(kPlain, first.allocation->kind) != std::end(kPlain);
    };
    keep_failing(dump, lives);
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
    if (access.relation == Relation::unknown)
      access.relation = where_is(std::nullopt, &address, GpuMemory(process_.record)).relation;
    access.allocation = allocation_of(address, process_, resolve_);
  }

  // Finds the nearest memory among the arguments of the launch, if no other is nearly as near. If the address is in or
  // at the end of memory, that memory may be meant.
  void find_nearest_passed(Access& access, const analyse::OperationArguments& given) const {
    constexpr std::uint64_t kMuchFarther = 2;
    const bool is_open = access.space == sass::Space::global && access.relation == Relation::unknown && access.address;
    if (!is_open || given.cut || map_.find(*access.address).allocation != nullptr) return;
    const OperationArgument* nearest = nullptr;
    std::uint64_t least = kFarthest, next = ~std::uint64_t{0};
    for (const OperationArgument& each : given.arguments) {
      const session::Allocation* memory = each.where.allocation;
      if (memory == nullptr || (nearest != nullptr && nearest->where.allocation == memory)) continue;
      const auto at = static_cast<std::int64_t>(*access.address);
      const std::uint64_t away = where_in({at, at, 0}, memory->address, each.where.bytes).distance;
      if (away < least) {
        next = nearest == nullptr ? next : least;
        nearest = &each, least = away;
      } else {
        next = std::min(next, away);
      }
    }
    if (nearest == nullptr || next / kMuchFarther < least || nearest->where.state != State::live) return;
    if (!is_of_host(*nearest)) access.nearest = allocation_of(*nearest, process_, resolve_);
  }

 private:
  static constexpr std::uint64_t kFarthest = std::uint64_t{1} << 36;

  void find_nearest(Access& access) const {
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

// Compares the distance from the pointer with the largest allocation of the process. Does nothing if the pointer may
// point to freed memory.
void compare_with_largest(Access& access, const session::ProcessRecord& record) {
  const bool comparable =
      access.relation == Relation::unknown && !access.allocation && access.address && access.pointer;
  const bool whole = record.forgotten_allocations == 0 &&
                     std::ranges::none_of(record.allocations, [](const auto& each) { return each.freed != 0; });
  if (!comparable || !whole || record.allocations.empty()) return;
  const auto largest = std::ranges::max(record.allocations, {}, &session::Allocation::bytes).bytes;
  const Placement its = where_from(*access.pointer, *access.address, largest, GpuMemory(record));
  access.relation = its.relation;
  if (is_measured(its.relation)) access.distance = access.farthest = its.distance;
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
  return base::file_name(dump) == name.text ? Dumped{again, failure.again} : Dumped{};
}

// A program may use adjacent mappings as one memory, and unmap a part of it. If the first failing address lies there,
// returns the argument with this part as its memory. `launch` received the argument.
std::optional<OperationArgument> in_unmapped_part(const OperationArgument* argument, const DumpAccess& dump,
                                                  const session::ProcessRecord& record,
                                                  const session::Operation& launch) {
  const auto is_mapped = [](const analyse::Whereabouts& where) {
    return where.allocation != nullptr && where.allocation->kind == wire::allocation::Kind::mapped;
  };
  if (argument == nullptr || !argument->pointer || !is_mapped(argument->where) || dump.lanes.empty())
    return std::nullopt;
  const auto base =
      std::ranges::find_if(dump.parameters, [&](const BaseParameter& each) { return argument->word == each.word; });
  if (base == dump.parameters.end() || !base->value) return std::nullopt;
  const std::uint64_t address = dump.lanes.front().address - *base->value + *argument->pointer;
  OperationArgument part = *argument;
  part.where = analyse::AllocationMap(record, launch.ticks).find(address);
  return part.where.state == State::freed && is_mapped(part.where) ? std::optional(part) : std::nullopt;
}

// Returns whether the threads of a block probably used different pointers. It is then unknown which of them is bad.
bool have_several_pointers(const DumpAccess& dump) {
  constexpr std::uint64_t kSpread = 2u << 20;
  std::vector<std::uint64_t> addresses;
  for (const LaneAddress& lane : dump.lanes) {
    if (lane.block == dump.lanes.front().block) addresses.push_back(lane.address);
  }
  return !addresses.empty() && std::ranges::max(addresses) - std::ranges::min(addresses) > kSpread;
}

// Removes the threads whose addresses could be valid, unless all could. A thread that has not read its pointer yet may
// show the address 0.
void keep_impossible(DumpAccess& dump) {
  keep_failing(dump, [](const LaneAddress& lane) { return lane.address == 0 || may_be_address(lane.address); });
}

void forget_address(Access& access) {
  access.address.reset();
  access.nearest.reset();
  access.block.reset();
  access.thread.reset();
  access.others += std::exchange(access.threads, 0);
}

// `own`: the process and the launch to which the addresses belong. `child`: the kernel was launched on the GPU.
Access access_of(DumpAccess dump, const analyse::Failure& failure, const ResolveSite& resolve, const Dumped& own,
                 bool child) {
  const analyse::OperationArguments given = child ? analyse::OperationArguments() : analyse::arguments_of(failure);
  const OperationArgument* argument = pointer_of(dump, given.arguments);
  std::optional<RecordedMemory> recorded;
  std::optional<OperationArgument> parameter;
  if (own.process != nullptr) recorded.emplace(*own.process, *own.launch, resolve);
  if (recorded && dump.from_memory && dump.space == sass::Space::global && !dump.misaligned)
    recorded->leave_failing(dump);
  // Without a recording, nothing else tells which of several pointers is bad.
  const bool may_differ = !recorded && dump.from_memory && dump.space == sass::Space::global && !dump.misaligned;
  if (may_differ && have_several_pointers(dump)) keep_impossible(dump);
  if (recorded && argument == nullptr) parameter = recorded->parameter(dump);
  const session::Process* process = given.process;
  if (parameter) {
    argument = &*parameter;
    process = own.process;
  }
  const session::Operation* launch = own.launch;
  if (given.process != nullptr && !parameter)
    launch = given.process == failure.again_process ? failure.again : failure.candidates.front().operation;
  std::optional<OperationArgument> unmapped;
  if (process != nullptr && launch != nullptr) unmapped = in_unmapped_part(argument, dump, process->record, *launch);
  if (unmapped) argument = &*unmapped;
  GpuMemory memory(failure.process->record);
  memory.all_known = process != nullptr && analyse::knows_all_allocations(process->record);
  Access access = recorded_access(dump, argument, memory);
  if (argument != nullptr && argument->where.allocation != nullptr) {
    access.allocation = allocation_of(*argument, *process, resolve);
    if (launch != nullptr) add_later_free(*access.allocation, *argument->where.allocation, *launch, *process, resolve);
  }
  const auto is_table = [&](const OperationArgument& each) { return dump.table && each.word == dump.table->word; };
  const auto table = std::ranges::find_if(given.arguments, is_table);
  if (table != given.arguments.end() && table->where.state == State::live)
    add_last_write(access, *given.process, *launch, *table->where.allocation, resolve);
  recorded ? recorded->complete(access) : compare_with_largest(access, failure.process->record);
  if (access.from_memory && access.relation == Relation::unknown && have_several_pointers(dump)) forget_address(access);
  const bool of_unknown_origin = dump.parameters.empty() && !dump.from_memory && !dump.misaligned;
  if (of_unknown_origin && recorded && given.process == own.process) recorded->find_nearest_passed(access, given);
  return access;
}

sass::AccessKind kind_of(const session::FoundAccess& found) {
  return found.mode == "read"    ? sass::AccessKind::load
         : found.mode == "write" ? sass::AccessKind::store
                                 : sass::AccessKind::atomic;
}

}  // namespace

Access recorded_access(const DumpAccess& dump, const OperationArgument* argument, const GpuMemory& memory) {
  return AddressPlacement(dump, argument, memory).result();
}

void add_access(Diagnosis& report, const std::vector<const analyse::Failure*>& failures,
                const symbolize::ToolResults& results, const ResolveSite& resolve) {
  if (!results.failure) return;
  const auto dump = dump_access(*results.failure, results.code);
  if (!dump) return;
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    Finding& finding = report.findings[i];
    if (!finding.device || finding.device->exception != results.failure->exception_name) continue;
    const Device& device = *finding.device;
    const Dumped own = dumped(*failures[i], device, results.dump);
    finding.access = access_of(*dump, *failures[i], resolve, own, !device.child.empty());
    if (finding.access->written) finding.related.push_back({Role::written, *finding.access->written});
    return;
  }
}

// If the pointer is null, freed or of another device, the address would explain nothing more.
bool lacks_address(const Finding& finding) {
  const bool is_access = finding.code == wire::cuda::kIllegalAddress || finding.code == wire::cuda::kMisalignedAddress;
  if (!is_access || !finding.launch || finding.launch->mangled.empty() || !finding.access) return false;
  const Access& access = *finding.access;
  const bool global = access.space == sass::Space::global || access.space == sass::Space::generic;
  const bool open = access.relation == Relation::unknown || (access.by_code && is_measured(access.relation));
  return global && open && !access.address && access.parameter && access.loaded.empty();
}

void add_replayed_access(Diagnosis& report, const session::Session& session,
                         const std::vector<const analyse::Failure*>& failures, const ResolveSite& resolve) {
  const auto& passes = session.manifest.passes;
  const auto pass = std::find_if(passes.rbegin(), passes.rend(),
                                 [](const session::Pass& each) { return each.access && each.access->why.empty(); });
  if (pass == passes.rend()) return;
  const session::FoundAccess& found = *pass->access;
  for (std::size_t i = 0; i < failures.size(); ++i) {
    Finding& finding = report.findings[i];
    if (!lacks_address(finding) || finding.launch->mangled != found.kernel) continue;
    const std::optional<Access> before = std::move(finding.access);  // not empty
    DumpAccess replayed{.kind = kind_of(found), .bytes = static_cast<std::uint32_t>(found.bytes)};
    replayed.misaligned = found.misaligned;
    replayed.lanes = {{found.block, found.thread, found.address}};
    if (found.parameter != 0) {
      replayed.parameters = {
          {.word = found.word, .number = found.parameter, .byte = found.byte, .value = found.pointer}};
    }
    finding.access = access_of(replayed, *failures[i], resolve, {}, false);
    finding.access->by_replay = true;
    finding.access->threads = 0;  // memcheck does not report all failing threads
    finding.access->from_memory = before->from_memory;
    finding.access->table = before->table;
    finding.evidence.add("compute-sanitizer measured the address in a replay of the launch");
    return;
  }
}

}  // namespace cudadiag::diagnose
