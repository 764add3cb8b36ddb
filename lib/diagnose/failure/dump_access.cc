#include "diagnose/failure/dump_access.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "base/demangle.h"
#include "diagnose/causes/case.h"
#include "diagnose/facts/address_relation.h"
#include "diagnose/failure/failed_operation.h"
#include "diagnose/words.h"
#include "wire/cuda_codes.h"
#include "wire/pass_files.h"

namespace cudadiag::diagnose {
namespace {

using sass::AccessKind;
using sass::Space;

constexpr std::uint64_t kFar = 1u << 20;      // an address farther than this from the first one gets its own line
constexpr std::uint64_t kWindow = 16u << 20;  // size of the generic windows of shared and of local memory
constexpr std::uint64_t kLongestIndex = std::uint64_t{1} << 40;  // no plausible index reaches this far from null

// Returns a description such as "load of 4 bytes".
std::string access_words(const DumpAccess& access) {
  constexpr const char* kKinds[] = {"load", "store", "atomic operation", "copy"};
  const std::string kind = kKinds[static_cast<int>(access.kind)];
  if (access.bytes == 0) return kind;
  return fmt::format("{} of {} byte{}", kind, access.bytes, access.bytes == 1 ? "" : "s");
}

// Returns a name such as "parameter 1" or "parameter 2 at byte 16".
std::string parameter_words(const BaseParameter& parameter) {
  if (parameter.variable) return variable_words(base::demangle(parameter.variable->name));
  if (!parameter.number) return fmt::format("the parameter at byte {}", parameter.word);
  const std::string name = fmt::format("parameter {}", *parameter.number);
  return parameter.byte == 0 ? name : fmt::format("{} at byte {}", name, parameter.byte);
}

bool is_of_address(std::uint32_t exception) {
  constexpr std::uint32_t kAddresses[] = {1, 5, 6, 7, 10, 11, 14, 30};
  return std::ranges::find(kAddresses, exception) != std::end(kAddresses);
}

sass::LaneState state_of(const evidence::FailingWarp& warp, const evidence::FailingLane& lane) {
  sass::LaneState state;
  state.stands = static_cast<std::uint32_t>(*lane.stands);
  state.registers = lane.registers;
  state.predicates = lane.predicates;
  state.lane = lane.lane;
  state.thread = lane.thread;
  state.block = warp.block;
  // Uniform registers are valid only if the whole warp was at this instruction. If the warp had diverged, other threads
  // may have changed them since.
  if (warp.together) {
    state.uniform_registers = warp.uniform_registers;
    state.uniform_predicates = warp.uniform_predicates;
  }
  return state;
}

std::optional<std::uint64_t> word_at(const std::string& parameters, std::uint32_t word) {
  if (parameters.size() < std::size_t{word} + 8) return std::nullopt;
  return evidence::Bytes(parameters.data(), parameters.size()).u64(word);
}

// Returns the base without a variable if the word is the address of something else, such as a function.
BaseParameter variable_at(const evidence::FailingState& state, std::uint32_t word) {
  BaseParameter base;
  base.word = word;
  base.value = word_at(state.variable_addresses, word & ~sass::kOfVariable);
  const auto contains = [&](const evidence::Variable& each) { return base.value && each.contains(*base.value); };
  const auto found = std::ranges::find_if(state.variables, contains);
  if (found != state.variables.end()) base.variable = *found;
  return base;
}

BaseParameter parameter_at(const evidence::FailingState& state, std::uint32_t word) {
  if ((word & sass::kOfVariable) != 0) return variable_at(state, word);
  BaseParameter parameter{.word = word, .number = std::nullopt, .value = word_at(state.parameters, word)};
  if (const auto* fact = state.facts.at(word)) {
    parameter.number = fact->index + 1;
    parameter.byte = word - fact->offset;
  }
  return parameter;
}

bool is_of_no_variable(const BaseParameter& base) { return (base.word & sass::kOfVariable) != 0 && !base.variable; }

// Generic addresses may refer to shared or local memory. If all lanes access shared memory, or all access local memory,
// converts the addresses to offsets.
void resolve_space(DumpAccess& access, const evidence::FailingState& state) {
  if (access.space != Space::generic) return;
  const std::pair<std::uint64_t, Space> windows[] = {{state.shared_window, Space::shared},
                                                     {state.local_window, Space::local}};
  for (const auto& [begin, space] : windows) {
    const auto inside = [first = begin](const LaneAddress& lane) {
      return first != 0 && lane.address >= first && lane.address - first < kWindow;
    };
    const auto count = std::ranges::count_if(access.lanes, inside);
    if (count == 0) continue;
    if (static_cast<std::size_t>(count) < access.lanes.size()) return;
    for (LaneAddress& lane : access.lanes) lane.address -= begin;
    access.space = space;
    return;
  }
  if (!access.lanes.empty()) access.space = Space::global;
}

std::string where_to(const BaseParameter& parameter, std::uint64_t address) {
  if (!parameter.value) return fmt::format(", computed from {}", parameter_words(parameter));
  const std::uint64_t value = *parameter.value;
  const std::string words = parameter_words(parameter);
  const std::string name =
      parameter.variable ? fmt::format("{}, which is at {:#x}", words, value) : fmt::format("{} ({:#x})", words, value);
  if (address == value) return parameter.variable ? ", the beginning of " + words : ", the value of " + words;
  return address > value ? fmt::format(", {} after {}", causes::size_text(address - value), name)
                         : fmt::format(", {} before {}", causes::size_text(value - address), name);
}

std::uint64_t away(const LaneAddress& lane, const BaseParameter& from) {
  const std::uint64_t value = from.value.value_or(0);
  return lane.address > value ? lane.address - value : value - lane.address;
}

const LaneAddress& farthest(const DumpAccess& access) {
  const BaseParameter* parameter = only_parameter(access);
  const auto nearer = [&](const LaneAddress& a, const LaneAddress& b) {
    return away(a, *parameter) < away(b, *parameter);
  };
  return parameter == nullptr ? access.lanes.front() : *std::ranges::max_element(access.lanes, nearer);
}

}  // namespace

std::optional<DumpAccess> dump_access(const evidence::DumpedFailure& failure, const std::string& code) {
  if (!failure.state || !failure.code || code.empty() || !is_of_address(failure.exception)) return std::nullopt;
  const evidence::FailingState& state = *failure.state;
  sass::FailingAddress address(code, {state.facts.offset, state.facts.bytes},
                               static_cast<std::uint32_t>(failure.code->offset),
                               {.parameters = state.parameters,
                                .grid = failure.grid,
                                .block = failure.block_dim,
                                .clusters = state.clusters,
                                .variables = state.variable_addresses});
  if (!address.known()) return std::nullopt;
  DumpAccess access{.kind = address.kind(), .space = address.space(), .bytes = address.bytes()};
  access.misaligned = failure.exception == 6 || failure.exception == 11;
  access.unknown = state.left_out;
  sass::Base base;
  for (const evidence::FailingWarp& warp : state.warps) {
    if (access.shared_bytes == 0) access.shared_bytes = warp.shared_bytes;
    for (const evidence::FailingLane& lane : warp.lanes) {
      const auto its = lane.stands ? address.of(state_of(warp, lane)) : std::nullopt;
      its ? access.lanes.push_back({warp.block, lane.thread, *its}) : void(++access.unknown);
      const bool has_no_low_window = access.space == Space::global || state.shared_window >> 32 != 0;
      if (!its && lane.stands && has_no_low_window && address.is_low(state_of(warp, lane))) ++access.low;
      if (its && access.lanes.size() == 1) {
        const sass::LaneState first = state_of(warp, lane);
        base = address.base(&first);
      }
    }
  }
  if (!base.known) base = address.base();
  access.from_memory = base.known && base.words.empty() && base.loaded;
  const std::set<std::uint32_t> tables(base.through.begin(), base.through.end());
  if (access.from_memory && tables.size() == 1) access.table = parameter_at(state, *tables.begin());
  if (access.table && is_of_no_variable(*access.table)) access.table.reset();
  resolve_space(access, state);
  if (access.space == Space::shared || access.space == Space::local) return access;
  for (const std::uint32_t word : base.words) access.parameters.push_back(parameter_at(state, word));
  std::erase_if(access.parameters, is_of_no_variable);
  // Small parameters are offsets if other values were added to them, or if the resulting address is large. The pointer
  // to which they were added came from memory or from the code.
  const bool is_far = !access.lanes.empty() && access.lanes.front().address >= kLongestIndex;
  if (base.others || is_far) {
    std::erase_if(access.parameters,
                  [](const BaseParameter& each) { return each.value && *each.value < kLowestAddress; });
  }
  return access;
}

const BaseParameter* only_parameter(const DumpAccess& access) {
  return access.parameters.size() == 1 ? &access.parameters.front() : nullptr;
}

std::vector<std::string> access_lines(const DumpAccess& access) {
  constexpr const char* kSpaces[] = {"", " of shared memory", " of local memory", ""};
  std::string text = access_words(access);
  const BaseParameter* parameter = only_parameter(access);
  if (access.lanes.empty()) {
    text += parameter != nullptr ? fmt::format(" through {}; its address is unknown", parameter_words(*parameter))
                                 : std::string("; its address is unknown");
    return {text};
  }
  const LaneAddress& first = access.lanes.front();
  text += fmt::format(" at {:#x}{}", first.address, kSpaces[static_cast<int>(access.space)]);
  if (parameter != nullptr) text += where_to(*parameter, first.address);
  const auto by = [](const LaneAddress& lane) {
    return fmt::format(", by block {} thread {}", dimensions(lane.block), dimensions(lane.thread));
  };
  std::vector<std::string> lines = {text + by(first)};
  const LaneAddress& last = farthest(access);
  if (parameter != nullptr && parameter->value && away(last, *parameter) > away(first, *parameter) + kFar) {
    lines.push_back(fmt::format("farthest at {:#x}{}{}", last.address, where_to(*parameter, last.address), by(last)));
  }
  return lines;
}

namespace {

using analyse::OperationArgument;
using State = analyse::Whereabouts::State;

class Join {
 public:
  Join(const DumpAccess& dump, const OperationArgument* argument, bool all_known)
      : dump_(dump), argument_(argument), all_known_(all_known && argument != nullptr) {
    const auto found = std::ranges::find_if(
        dump.parameters, [&](const BaseParameter& each) { return argument == nullptr || argument->word == each.word; });
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
      access.relation = through_ ? where_is(std::nullopt, &*through_, false).relation : Relation::unknown;
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
    if (through_ && !comparable) return where_is(std::nullopt, &*through_, false);
    const auto here = static_cast<std::int64_t>(through_ ? address - *parameter_->value + *through_->pointer : address);
    return where_is(AccessAddresses{here, here, dump_.bytes}, through_ ? &*through_ : nullptr, all_known_);
  }

  // A bulk copy also needs an aligned size and an aligned address in shared memory. One of those may be misaligned
  // instead.
  bool may_be_misaligned_elsewhere() const { return dump_.misaligned && dump_.bytes == 0; }

  // Judges an address that is unknown or cannot be compared.
  void judge_unknown(Access& access) const {
    if (dump_.low > 0 && parameter_ == nullptr) {
      access.relation = where_is(AccessAddresses{0, kLowestAddress - 1}, nullptr, false).relation;
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
  const bool all_known_;
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

  // Removes threads whose address lies in live memory: their accesses succeed. Keeps all of them if none remains, or if
  // the memory may belong to another context.
  void leave_failing(DumpAccess& dump) const {
    if (process_.record.contexts.size() != 1) return;
    const auto lives = [&](const LaneAddress& lane) {
      const analyse::Whereabouts first = map_.find(lane.address), last = map_.find(lane.address + dump.bytes);
      if (first.state != State::live || last.allocation != first.allocation) return false;
      using wire::allocation::Kind;
      // Mapped memory may lack the right to write, and memory of another process may be gone.
      const Kind kind = first.allocation->kind;
      return first.allocation->freed == 0 && kind != Kind::mapped && kind != Kind::opened;
    };
    const auto live = static_cast<std::uint64_t>(std::ranges::count_if(dump.lanes, lives));
    if (live == dump.lanes.size()) return;
    std::erase_if(dump.lanes, lives);
    dump.unknown += live;
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
    if (access.relation == Relation::unknown) access.relation = where_is(std::nullopt, &address, false).relation;
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

// Compares the distance from the pointer with the largest allocation of the process. Does nothing if the pointer may
// point to freed memory.
void compare_with_largest(Access& access, const session::ProcessRecord& record) {
  const bool comparable =
      access.relation == Relation::unknown && !access.allocation && access.address && access.pointer;
  const bool all_known = analyse::knows_all_allocations(record) && record.forgotten_allocations == 0 &&
                         std::ranges::none_of(record.allocations, [](const auto& each) { return each.freed != 0; });
  if (!comparable || !all_known || record.allocations.empty()) return;
  const auto largest = std::ranges::max(record.allocations, {}, &session::Allocation::bytes).bytes;
  const Placement its = where_from(*access.pointer, *access.address, largest);
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
  return std::filesystem::path(dump).filename() == name.text ? Dumped{again, failure.again} : Dumped{};
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
  const bool all_known = process != nullptr && analyse::knows_all_allocations(process->record);
  Access access = recorded_access(dump, argument, all_known);
  if (argument != nullptr && argument->where.allocation != nullptr) {
    access.allocation = allocation_of(*argument, *process, resolve);
  }
  const auto is_table = [&](const OperationArgument& each) { return dump.table && each.word == dump.table->word; };
  const auto table = std::ranges::find_if(given.arguments, is_table);
  if (table != given.arguments.end() && table->where.state == State::live)
    add_last_write(access, *given.process, *launch, *table->where.allocation, resolve);
  recorded ? recorded->complete(access) : compare_with_largest(access, failure.process->record);
  return access;
}

sass::AccessKind kind_of(const session::FoundAccess& found) {
  return found.mode == "read"    ? sass::AccessKind::load
         : found.mode == "write" ? sass::AccessKind::store
                                 : sass::AccessKind::atomic;
}

}  // namespace

Access recorded_access(const DumpAccess& dump, const OperationArgument* argument, bool all_known) {
  return Join(dump, argument, all_known).run();
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
  const bool global = access.space == Space::global || access.space == Space::generic;
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
