// Where the values in registers come from, as far as addresses go. Internal to the room.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

namespace cudadiag::races {

// One thing that a register may hold a part of.
//
//   word      half of a word of the parameters, or that word plus something: bytes from their beginning, multiple of 4
//   place     lower half of the address of a word of the parameters: bytes from their beginning
//   kUpper    upper half of such an address
//   number    exactly this
//   kTop      any word of the parameters
//   kThread   something that is made, among others, of the number of a thread or block
//
// With kIndexed: a word of the array, or a place in it, that begins there; a word with kChosen, too: that of which
// element is not made of the number of a thread or block, and is thus one of them for all it is known.
namespace origin {
inline constexpr std::uint32_t kTop = 0xffffffff, kIndexed = 0x80000000;
inline constexpr std::uint32_t kPlace = 0x40000000, kNumber = 0x20000000, kUpper = 0x10000000, kChosen = 0x08000000;
inline constexpr std::uint32_t kThread = kUpper | 1;
inline constexpr std::uint32_t kValue = 0x07ffffff;
constexpr bool is_place(std::uint32_t origin) { return origin != kTop && (origin & kPlace) != 0; }
constexpr bool is_number(std::uint32_t origin) { return origin != kTop && (origin & kNumber) != 0; }
constexpr bool is_word(std::uint32_t origin) { return (origin & (kPlace | kNumber | kUpper)) == 0; }
constexpr bool is_mark(std::uint32_t origin) { return origin == kThread; }
constexpr bool is_indexed(std::uint32_t origin) { return (origin & kIndexed) != 0; }
constexpr bool is_chosen(std::uint32_t origin) { return origin != kTop && (origin & kChosen) != 0; }
constexpr std::uint32_t value_of(std::uint32_t origin) { return origin & kValue; }
}  // namespace origin

// Sets of them are few: each gets a number, 0 is the empty one. A register may always hold something else as well,
// unless its set is one of numbers alone: then it holds one of these.
class OriginSets {
 public:
  using Id = std::uint16_t;
  using Set = std::vector<std::uint32_t>;

  OriginSets() { number({}); }
  const Set& of(Id id) const { return sets_[id]; }
  // There were too many.
  bool full() const { return full_; }
  bool has(Id id, std::uint32_t origin) const;
  bool are_numbers(Id id) const { return id != 0 && origin::is_number(sets_[id].front()); }

  Id number(Set set);
  Id one(std::uint32_t origin) { return number({origin}); }
  // What it holds is one or the other.
  Id join(Id a, Id b);
  // What is made of it by anything but moving it around.
  Id blurred(Id id);
  // What a number that is made of it still tells; what it tells of addresses.
  Id marks(Id id);
  Id without_marks(Id id);
  // What their sum may be an address because of.
  Id sum(Id a, Id b);

 private:
  static constexpr std::size_t kMostNumbers = 16, kMostPlaces = 32;

  static Set bounded(Set set);
  Id moved(Id places, Id by);

  std::vector<Set> sets_;
  std::map<Set, Id> ids_;
  std::unordered_map<std::uint32_t, Id> joined_, sums_;
  bool full_ = false;
};

}  // namespace cudadiag::races
