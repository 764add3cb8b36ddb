// What a kernel's registers hold at one place of its code, as far as addresses go. Internal to the room.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "races/sass_lines.h"

namespace cudadiag::races {

// Words of the parameters that a register may hold a part of, and `top`: perhaps any. Sets are few: each gets a number,
// 0 is the empty one.
class OriginSets {
 public:
  using Id = std::uint16_t;
  using Set = std::vector<std::uint32_t>;
  static constexpr std::uint32_t kTop = 0xffffffff, kIndexed = 0x80000000;

  OriginSets() { number({}); }
  const Set& of(Id id) const { return sets_[id]; }
  // There were too many.
  bool full() const { return full_; }

  Id number(Set set);
  Id join(Id a, Id b);

 private:
  std::vector<Set> sets_;
  std::map<Set, Id> ids_;
  std::unordered_map<std::uint32_t, Id> joined_;
  bool full_ = false;
};

// P0..P7, UP0..UP7, each as it is and negated: P0 and !P0 are different ones. kNone for PT, UPT and what is none.
std::uint32_t predicate_of(std::string_view name);

// Under a condition a register keeps what it had, or gets the new; what reads it under the same condition sees the new
// alone, as long as the condition is not decided anew and no other path comes in.
class Registers {
 public:
  using Held = std::array<OriginSets::Id, kRegisters>;

  explicit Registers(OriginSets& sets) : sets_(sets) {}

  OriginSets::Id get(std::uint32_t at, std::uint32_t predicate) const;
  void set(std::uint32_t at, OriginSets::Id value, std::uint32_t predicate);
  // "P0" and "!P0" alike.
  void forget_condition(std::string_view name);

  // At the beginning of a block.
  void enter(const Held& held);
  // At its end; false: nothing is new.
  bool join_into(Held& held) const;
  const Held& held() const { return held_; }

 private:
  using View = std::unordered_map<std::uint32_t, OriginSets::Id>;
  static constexpr std::uint32_t kPredicates = 32;

  View& view(std::uint32_t predicate);
  void forget(std::uint32_t predicate);
  template <typename Visit>
  void each_view(const Visit& visit);

  OriginSets& sets_;
  Held held_{};
  std::array<View, kPredicates> views_;
  std::uint32_t in_use_ = 0;  // a bit for each view that holds anything
};

}  // namespace cudadiag::races
