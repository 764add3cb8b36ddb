#include "analyse/operation_arguments.h"

#include <fmt/core.h>

#include <algorithm>

#include "wire/cuda_codes.h"
#include "wire/intern.h"
#include "wire/operation.h"

namespace cudadiag::analyse {
namespace {

using session::Operation;
using session::ProcessRecord;
using State = Whereabouts::State;

// Only the size of the type is known. Formats the value as an integer, because integers are the most common.
std::string value_of(const std::string& bytes) {
  switch (bytes.size()) {
    case 1:
      return fmt::format("{}", number_at<std::int8_t>(bytes, 0));
    case 2:
      return fmt::format("{}", number_at<std::int16_t>(bytes, 0));
    case 4:
      return fmt::format("{}", number_at<std::int32_t>(bytes, 0));
    case 8: {
      const auto value = number_at<std::int64_t>(bytes, 0);
      return value < (std::int64_t{1} << 32) && value > -(std::int64_t{1} << 32) ? fmt::format("{}", value)
                                                                                 : fmt::format("{:#x}", value);
    }
    default:
      return fmt::format("{} bytes", bytes.size());
  }
}

// Returns whether the 8-byte word is null, or in the range of addresses that 64-bit programs use.
bool looks_like_address(std::uint64_t word) { return word == 0 || (word >> 32 != 0 && word >> 48 == 0); }

const session::Context* context_at(const ProcessRecord& record, std::uint32_t index) {
  return index < record.contexts.size() ? &record.contexts[index] : nullptr;
}

const session::Context* context_of(const ProcessRecord& record, const Operation& operation) {
  if (operation.stream >= record.streams.size()) return nullptr;
  return context_at(record, record.streams[operation.stream].context);
}

class Reader {
 public:
  Reader(const ProcessRecord& record, const Operation& operation)
      : record_(record),
        operation_(operation),
        map_(record, operation.ticks),
        runs_in_(context_of(record, operation)) {}

  void add_parameter(std::size_t number, const session::Parameter& parameter) {
    const std::size_t before = found_.size();
    const std::size_t first = (8 - parameter.offset % 8) % 8;
    for (std::size_t at = first; at + 8 <= parameter.bytes.size(); at += 8) {
      const auto word = number_at<std::uint64_t>(parameter.bytes, at);
      const Whereabouts where = map_.find(word);
      if (where.state == State::unknown) continue;
      std::string name = fmt::format("parameter {}", number);
      if (parameter.bytes.size() > 8) name += fmt::format(" at byte {}", at);
      found_.push_back({std::move(name), "", word, std::nullopt, where, is_out_of_reach(where)});
      found_.back().may_be_out_of_reach = may_be_out_of_reach(where);
      found_.back().word = parameter.offset + static_cast<std::uint32_t>(at);
      found_.back().parameter = static_cast<std::uint32_t>(number);
      found_.back().parameter_byte = static_cast<std::uint32_t>(at);
    }
    if (found_.size() > before) return;
    OperationArgument plain{fmt::format("parameter {}", number), value_of(parameter.bytes), {}, {}, {}, false};
    const bool may_be_address =
        parameter.bytes.size() == 8 && looks_like_address(number_at<std::uint64_t>(parameter.bytes, 0));
    if (may_be_address) plain.pointer = number_at<std::uint64_t>(parameter.bytes, 0);
    plain.word = parameter.offset;
    plain.parameter = static_cast<std::uint32_t>(number);
    found_.push_back(std::move(plain));
  }

  // Adds pointers to freed device memory in the tables to which the parameters point, according to recorded copies.
  void add_freed_in_tables() {
    constexpr std::size_t kMostTables = 4;
    const std::vector<CopiedMemory> tables = copied_memory(record_, operation_, map_);
    const std::size_t parameters = tables.empty() ? 0 : found_.size();
    for (std::size_t i = 0; i < parameters; ++i) {
      const OperationArgument from = found_[i];
      for (const CopiedMemory& table : tables) {
        if (from.where.state != State::live || table.allocation != from.where.allocation) continue;
        if (!is_nearest(i, table.address, found_)) continue;
        for (std::size_t at = 0; at + 8 <= table.bytes.size() && found_.size() < parameters + kMostTables; at += 8) {
          const auto word = number_at<std::uint64_t>(table.bytes, at);
          const Whereabouts where = map_.find(word);
          const bool freed = where.state == State::freed && where.allocation->kind < wire::allocation::Kind::pinned;
          if (!freed || table.address + at < *from.pointer) continue;
          const std::uint64_t byte = table.address + at - *from.pointer;
          OperationArgument& pointer = found_.emplace_back(from);
          pointer.name = fmt::format("byte {} of {}'s memory", byte, from.name);
          pointer.pointer = word;
          pointer.where = where;
          pointer.word.reset();
          pointer.loaded = {byte};
        }
      }
    }
  }

  // Host memory may stay valid after the program has unpinned it, so it does not count as freed.
  void add_address(const char* name, std::uint64_t address, std::uint64_t bytes) {
    Whereabouts where = map_.find(address);
    if (where.state == State::freed && where.allocation->kind >= wire::allocation::Kind::pinned) where = {};
    add(name, address, bytes, where);
  }

  // Ignores addresses outside recorded memory, because the call may have been refused for another reason. `of_host`:
  // the call expects a host address. Allocations of host memory are not recorded.
  void add_refused_address(const char* name, std::uint64_t address, std::uint64_t bytes, bool of_host) {
    Whereabouts where = map_.find(address);
    const bool known = where.state == State::live || (where.state == State::freed && !of_host);
    if (!known || where.allocation->kind >= wire::allocation::Kind::pinned) where = {};
    if (of_host && where.allocation != nullptr && !takes_device_memory(where.allocation->kind)) where = {};
    add(name, address, bytes, where);
  }

  std::vector<OperationArgument> take() { return std::move(found_); }

 private:
  void add(const char* name, std::uint64_t address, std::uint64_t bytes, const Whereabouts& where) {
    if (address == 0) return;
    found_.push_back({name, "", address, bytes == 0 ? std::optional<std::uint64_t>() : bytes, where, false});
  }

  // Returns whether the context has no access to the memory. Checks only plain device memory. Access to stream-ordered
  // or mapped memory, and to memory of another process, is granted in ways that are not recorded.
  bool is_out_of_reach(const Whereabouts& where) const {
    // It is not recorded on which device a node of a graph runs.
    if (operation_.kind == wire::operation::Kind::graph || runs_in_ == nullptr || where.state != State::live ||
        where.allocation->kind != wire::allocation::Kind::device) {
      return false;
    }
    const session::Context* owner = context_at(record_, where.allocation->context);
    return owner != nullptr && owner->device != runs_in_->device && owner->device < wire::context::kPeerDevices &&
           (runs_in_->peers & wire::context::kPeersKnown) != 0 && (runs_in_->peers >> owner->device & 1) == 0;
  }

  bool may_be_out_of_reach(const Whereabouts& where) const {
    if (where.state != State::live || !has_several_contexts(record_)) return false;
    const wire::allocation::Kind kind = where.allocation->kind;
    if (kind == wire::allocation::Kind::managed || kind >= wire::allocation::Kind::pinned) return false;
    if (operation_.kind == wire::operation::Kind::graph || runs_in_ == nullptr) return true;
    const session::Context* owner = context_at(record_, where.allocation->context);
    if (owner == runs_in_) return false;
    const bool known = owner != nullptr && kind == wire::allocation::Kind::device &&
                       owner->device != runs_in_->device && owner->device < wire::context::kPeerDevices &&
                       (runs_in_->peers & wire::context::kPeersKnown) != 0;
    return !known;
  }

  const ProcessRecord& record_;
  const Operation& operation_;
  AllocationMap map_;
  const session::Context* runs_in_;  // null if unknown
  std::vector<OperationArgument> found_;
};

// Returns the freed memory to which the graph node still points.
OperationArgument stale_argument(const Failure& failure) {
  const session::StalePointer& stale = *failure.stale;
  const session::GraphNode* node = failure.candidates.front().node;
  std::string name = stale.in_structure ? fmt::format("the word at byte {} of its parameters", stale.offset)
                                        : fmt::format("the parameter at byte {}", stale.offset);
  if (node != nullptr && node->type != wire::graph_node::kKernel) name = stale.offset == 0 ? "destination" : "source";
  const auto& all = failure.process->record.allocations;
  const auto freed =
      std::ranges::find_if(all, [&](const auto& allocation) { return allocation.serial == stale.allocation; });
  return {std::move(name),
          "",
          stale.address,
          std::nullopt,
          Whereabouts{State::freed, freed == all.end() ? nullptr : &*freed, freed == all.end() ? 0 : freed->bytes},
          false};
}

// Returns no arguments if records of allocations are lost: memory that seems freed may have been allocated again.
OperationArguments refused_arguments(const Failure& failure) {
  OperationArguments found;
  const ProcessRecord& record = failure.process->record;
  if (failure.reported == nullptr || failure.code != wire::cuda::kInvalidValue || !knows_all_allocations(record))
    return found;
  const session::FailedCall& call = *failure.reported;
  const Operation* operation = refused_operation(record, call);
  if (operation == nullptr || !wire::operation::has_bytes(operation->kind)) return found;
  Reader reader(record, *operation);
  reader.add_refused_address("destination", operation->destination, operation->argument, goes_to_host(call));
  reader.add_refused_address("source", operation->source, operation->argument, comes_from_host(call));
  found.arguments = reader.take();
  found.process = failure.process;
  return found;
}

}  // namespace

bool has_several_contexts(const ProcessRecord& record) {
  return std::ranges::count_if(record.contexts, [](const session::Context& context) {
           return context.state != wire::context::State::free;
         }) > 1;
}

bool is_nearest(std::size_t which, std::uint64_t address, const std::vector<OperationArgument>& arguments) {
  const std::uint64_t own = *arguments[which].pointer;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const OperationArgument& other = arguments[i];
    if (i == which || !other.pointer || other.where.allocation != arguments[which].where.allocation) continue;
    const bool nearer = *other.pointer <= address && (own > address || *other.pointer > own);
    if (nearer || (*other.pointer == own && i < which)) return false;
  }
  return true;
}

std::uint64_t OperationArgument::past_end() const {
  if (!pointer || (where.state != State::live && where.state != State::past_end)) return 0;
  return analyse::past_end(*pointer - where.allocation->address, bytes, where.bytes);
}

const session::Arguments* kept_arguments(const ProcessRecord& record, const Operation& operation) {
  const auto found = std::ranges::find_if(record.arguments, [&](const session::Arguments& arguments) {
    return arguments.thread == operation.thread && arguments.serial == operation.serial;
  });
  return found == record.arguments.end() ? nullptr : &*found;
}

const session::Arguments* kept_arguments(const ProcessRecord& record, const Operation& launch,
                                         const Candidate& of_node) {
  const bool one = of_node.node != nullptr && of_node.nodes == 1 && of_node.changed == 0 && of_node.node_index != 0;
  if (!one || of_node.node->type != wire::graph_node::kKernel) return nullptr;
  const std::uint64_t serial = std::uint64_t{launch.graph} << 32 | (of_node.node_index - 1);
  const auto found = std::ranges::find_if(record.arguments, [serial](const session::Arguments& arguments) {
    return arguments.thread == wire::intern::kOfNode && arguments.serial == serial;
  });
  return found == record.arguments.end() ? nullptr : &*found;
}

bool goes_to_host(const session::FailedCall& copy) {
  return copy.call.starts_with("cuMemcpyDtoH") || copy.call.starts_with("cuMemcpyAtoH");
}

bool comes_from_host(const session::FailedCall& copy) { return copy.call.starts_with("cuMemcpyHto"); }

bool is_given_freed_memory(const ProcessRecord& record, const Operation& operation, const AllocationMap& map) {
  constexpr std::size_t kSmallStructure = 64;  // bytes; larger structures may contain lists with unused entries
  const auto is_freed = [&](std::uint64_t address) {
    const Whereabouts where = map.find(address);
    return where.state == State::freed && where.allocation->kind < wire::allocation::Kind::pinned;
  };
  if (wire::operation::has_bytes(operation.kind)) return is_freed(operation.destination) || is_freed(operation.source);
  const session::Arguments* kept = kept_arguments(record, operation);
  return kept != nullptr && std::ranges::any_of(kept->parameters, [&](const session::Parameter& parameter) {
           if (parameter.bytes.size() > kSmallStructure) return false;
           for (std::size_t at = (8 - parameter.offset % 8) % 8; at + 8 <= parameter.bytes.size(); at += 8) {
             if (is_freed(number_at<std::uint64_t>(parameter.bytes, at))) return true;
           }
           return false;
         });
}

const Operation* refused_operation(const ProcessRecord& record, const session::FailedCall& error) {
  if (error.started == 0) return nullptr;
  const auto& all = record.operations;
  const auto found = std::ranges::find_if(all, [&](const Operation& operation) {
    return operation.thread == error.thread && operation.serial == error.operation &&
           operation.ticks >= error.started && operation.ticks <= error.ticks;
  });
  return found == all.end() ? nullptr : &*found;
}

OperationArguments arguments_of(const Failure& failure) {
  OperationArguments found;
  if (failure.stale != nullptr) {
    found.arguments = {stale_argument(failure)};
    found.process = failure.process;
    return found;
  }
  if (!is_asynchronous(failure.kind)) return refused_arguments(failure);
  if (failure.candidates.size() != 1) return found;
  const bool again = failure.again != nullptr && failure.again_process != nullptr;
  const session::Process& process = again ? *failure.again_process : *failure.process;
  const Operation& operation = again ? *failure.again : *failure.candidates.front().operation;
  Reader reader(process.record, operation);
  const Candidate& candidate = failure.candidates.front();
  if (operation.kind == wire::operation::Kind::kernel || candidate.node != nullptr) {
    const session::Arguments* kept = candidate.node == nullptr ? kept_arguments(process.record, operation)
                                                               : kept_arguments(process.record, operation, candidate);
    if (kept == nullptr) return found;
    for (std::size_t i = 0; i < kept->parameters.size(); ++i) reader.add_parameter(i + 1, kept->parameters[i]);
    if (candidate.node == nullptr) reader.add_freed_in_tables();
    found.cut = (kept->flags & wire::intern::kCut) != 0;
  } else {
    reader.add_address("destination", operation.destination, operation.argument);
    reader.add_address("source", operation.source, operation.argument);
  }
  found.arguments = reader.take();
  found.process = &process;
  return found;
}

}  // namespace cudadiag::analyse
