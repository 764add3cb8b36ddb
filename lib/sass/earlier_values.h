// Computes the values that a thread's registers and predicates had before an instruction that it executed. Internal to
// lib/sass.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sass/control_flow.h"
#include "sass/evaluator.h"
#include "sass/launch_values.h"

namespace cudadiag::sass {

class EarlierValues {
 public:
  using At = Paths::At;
  using Moment = Paths::Moment;

  // If `lane` is null, computes values from the code and the launch alone. All arguments must outlive this object.
  EarlierValues(Paths& paths, ParameterBank bank, const LaunchState& launch, const LaneState* lane);

  // Returns the value of a register, or 0 or 1 for a predicate, as it was just before `moment`; nullopt if unknown.
  std::optional<std::uint32_t> value(Slot slot, Moment moment);
  Base base(Slot slot, Moment moment);
  const std::set<std::string_view>& unknown_opcodes() const { return unknown_; }

 private:
  // The parameter words that are terms of a value. `others`: the value also has terms that are not parameters. `made`:
  // one of these does not come from a load of global memory. `mixed`: the terms differ between paths. `open`: the value
  // depends on itself in a loop, so its terms come from the path into the loop.
  struct Sum {
    bool open = false, mixed = false, others = false, made = false;
    std::set<std::uint32_t> words{};
    std::set<std::uint32_t> through{};  // of the addresses from which other terms were loaded
    bool operator==(const Sum&) const = default;
  };
  using Key = std::pair<Slot, Moment>;

  class InputsBefore;
  class InputsSince;

  std::optional<std::uint32_t> kept(Slot slot) const;
  std::optional<std::uint32_t> undone(Slot slot, Moment moment);
  std::optional<std::uint32_t> computed(Slot slot, Moment moment);
  Value constant(std::uint32_t offset) const;
  Value variable(std::uint32_t offset) const;
  Value special(std::string_view name) const;
  std::optional<At> definition(Slot slot, Moment moment);
  std::optional<bool> holds(const Condition& condition, Moment moment);

  static const Sum kMade;
  Sum sum_of(Slot slot, Moment moment);
  Sum sum_made_by(Moment moment, std::uint32_t half);
  Sum loaded(const Instruction& i, Moment moment);
  Sum sum_of_operand(const Operand& operand, std::uint32_t half, Moment moment);
  static Sum joined(const Sum& a, const Sum& b);
  static Sum added(const Sum& a, const Sum& b);

  Paths& paths_;
  const Program& program_;
  const ParameterBank bank_;
  const LaunchState& launch_;
  const LaneState* lane_;
  Box thread_;
  At stands_ = kNone;
  std::map<Key, std::optional<std::uint32_t>> values_;
  std::map<Key, Sum> sums_;
  std::set<Key> summing_;
  std::set<std::string_view> unknown_;
  int depth_ = 0;
  std::size_t sums_done_ = 0;
};

}  // namespace cudadiag::sass
