// Finds the access that failed from the failing threads in a GPU core dump. Needs no recording.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/text.h"
#include "diagnose/causes/case.h"
#include "diagnose/facts/address_relation.h"
#include "diagnose/failure/failed_access.h"
#include "diagnose/words.h"

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
  const auto begins = [&](const evidence::Variable& each) { return base.value == each.address && each.bytes > 0; };
  const auto found = std::ranges::find_if(state.variables, begins);
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

// Removes threads whose address lies in a variable of the module.
void leave_outside(DumpAccess& access, const evidence::FailingState& state) {
  if (access.misaligned) return;
  keep_failing(access, [&](const LaneAddress& lane) {
    return std::ranges::any_of(state.variables, [&](const evidence::Variable& each) {
      return each.contains(lane.address) && each.contains(lane.address + std::max(access.bytes, 1u) - 1);
    });
  });
}

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

std::string parameter_words(const BaseParameter& parameter) {
  if (parameter.variable) return variable_words(base::demangle(parameter.variable->name));
  if (!parameter.number) return fmt::format("the parameter at byte {}", parameter.word);
  const std::string name = fmt::format("parameter {}", *parameter.number);
  return parameter.byte == 0 ? name : fmt::format("{} at byte {}", name, parameter.byte);
}

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
  if (std::ranges::any_of(access.parameters, is_of_no_variable)) access.parameters.clear();
  if (const BaseParameter* only = only_parameter(access); only != nullptr && only->variable)
    leave_outside(access, state);
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

}  // namespace cudadiag::diagnose
