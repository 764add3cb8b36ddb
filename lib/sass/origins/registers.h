// The contents of a kernel's registers at one place of its code, as far as addresses go. Internal to the room.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>

#include "sass/code/lines.h"
#include "sass/origins/origins.h"

namespace cudadiag::sass {

// P0..P7, UP0..UP7, each as it is and negated: P0 and !P0 are different ones. kNone for PT, UPT and what is none.
std::uint32_t predicate_of(std::string_view name);

// Under a condition a register keeps what it had, or gets the new; what reads it under the same condition sees the new
// alone, as long as the condition is not decided anew.
class Registers {
 public:
  using Id = OriginSets::Id;
  using Held = std::array<Id, kRegisters>;
  // Where paths part or meet.
  struct State {
    Held held{};
    std::map<std::uint32_t, Id> views;  // what else a register holds under a condition: by condition << 16 | register
    std::uint32_t known = 0;            // a bit for each condition that holds
  };

  explicit Registers(OriginSets& sets) : sets_(sets) {}

  Id get(std::uint32_t at, std::uint32_t predicate) const;
  void set(std::uint32_t at, Id value, std::uint32_t predicate);
  const Held& held() const { return held_; }
  // "P0" and "!P0" alike.
  void forget_condition(std::string_view name);
  void forget_conditions();

  void enter(const State& state);
  // `holds`: a condition that is known to; kNone: none.
  State leave(std::uint32_t holds) const;
  // False: nothing is new.
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
  std::uint32_t in_use_ = 0;  // a bit for each view that holds anything
  std::uint32_t known_ = 0;   // a bit for each condition that holds
};

}  // namespace cudadiag::sass
