// What a kernel's registers hold at one place of its code, as far as addresses go. Internal to the room.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "races/sass_lines.h"
#include "races/sass_origins.h"

namespace cudadiag::races {

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
