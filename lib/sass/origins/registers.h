// Holds the origins of a kernel's registers at one place in its code. Internal to lib/sass.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>

#include "sass/instruction.h"
#include "sass/origins.h"

namespace cudadiag::sass {

// Returns a distinct number for each predicate P0..P7 and UP0..UP7, and for each negation, such as "!P0". Returns kNone
// for anything else, including PT and UPT.
std::uint32_t condition_number(const Condition& condition);

// After a conditional write, a register has its old or its new value. An instruction with the same predicate sees only
// the new value, until the predicate is set again.
class Registers {
 public:
  using Id = OriginSets::Id;
  using Held = std::array<Id, kRegisters>;
  // The state at a place where paths branch or join.
  struct State {
    Held held{};
    std::map<std::uint32_t, Id> views;  // what a register contains under a condition; the key is condition << 16 |
                                        // register
    std::uint32_t known = 0;            // a bit for each condition known to be true
  };

  explicit Registers(OriginSets& sets) : sets_(sets) {}

  Id get(std::uint32_t at, std::uint32_t predicate) const;
  void set(std::uint32_t at, Id value, std::uint32_t predicate);
  const Held& held() const { return held_; }
  // Forgets the values under these predicates and their negations. There is one bit per predicate, as in Written.
  void forget_conditions(std::uint32_t predicates = ~0u);

  void enter(const State& state);
  // Returns the state for a successor. `holds` is a condition that is true on the path to the successor, or kNone.
  State leave(std::uint32_t holds) const;
  // Merges `more` into `state`. Returns whether `state` changed.
  bool join(State& state, const State& more) const;

 private:
  using View = std::unordered_map<std::uint32_t, Id>;
  static constexpr std::uint32_t kPredicates = 32;
  static constexpr std::size_t kMostViews = 4096;

  View& view(std::uint32_t predicate);
  void forget(std::uint32_t predicate);
  bool holds(std::uint32_t predicate) const { return (known_ >> predicate & 1) != 0; }
  template <typename Visit>
  void each_view(const Visit& visit) const;

  OriginSets& sets_;
  Held held_{};
  std::array<View, kPredicates> views_;
  std::uint32_t in_use_ = 0;  // a bit for each view that is not empty
  std::uint32_t known_ = 0;   // a bit for each condition known to be true
};

}  // namespace cudadiag::sass
