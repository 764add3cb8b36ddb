// Where the values in registers come from, as far as addresses matter. Internal to lib/sass.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

namespace cudadiag::sass {

// One possible source of a register's value, or of a part of it.
//
//   word      half of a parameter word, or that word plus something: its offset in the parameters, a multiple of 4
//   place     lower half of the address of a parameter word: the offset of that word
//   kUpper    upper half of the address of a parameter word
//   number    exactly this number
//   kTop      any parameter word
//   kThread   something computed from a thread or block number, and perhaps from other values
//   kAddend   a parameter, or the sum or product of one and something else: likely more than 0 for every thread
//   kBefore   a number less than 0
//   kConstant a number in the code other than 0; its value is not kept
//
// kIndexed: a word of the array that begins there, or a place in that array. kChosen, with kIndexed: the index of a
// word does not come from a thread or block number, so all threads may use the same element. kMoved, for a lower half:
// plus something that may be 0 for some thread. kShifted, for a lower half: plus something that is likely not 0 for any
// thread.
namespace origin {
inline constexpr std::uint32_t kTop = 0xffffffff, kIndexed = 0x80000000;
inline constexpr std::uint32_t kPlace = 0x40000000, kNumber = 0x20000000, kUpper = 0x10000000, kChosen = 0x08000000;
inline constexpr std::uint32_t kMoved = 0x04000000, kShifted = 0x02000000;
inline constexpr std::uint32_t kThread = kUpper | 1, kAddend = kUpper | 2, kBefore = kUpper | 3;
inline constexpr std::uint32_t kConstant = kUpper | 4;
inline constexpr std::uint32_t kValue = 0x01ffffff;
constexpr bool is_place(std::uint32_t origin) { return origin != kTop && (origin & kPlace) != 0; }
constexpr bool is_number(std::uint32_t origin) { return origin != kTop && (origin & kNumber) != 0; }
constexpr bool is_word(std::uint32_t origin) { return (origin & (kPlace | kNumber | kUpper)) == 0; }
// Returns whether the origin is a mark that stays only if it holds on all paths.
constexpr bool is_certain(std::uint32_t origin) { return origin >= kAddend && origin <= kConstant; }
constexpr bool is_mark(std::uint32_t origin) { return origin == kThread || is_certain(origin); }
constexpr bool is_indexed(std::uint32_t origin) { return (origin & kIndexed) != 0; }
constexpr bool is_chosen(std::uint32_t origin) { return origin != kTop && (origin & kChosen) != 0; }
constexpr std::uint32_t value_of(std::uint32_t origin) { return origin & kValue; }
}  // namespace origin

// How adding a number moves an address, in the order of the enumerators: not at all, by 0 or less, by less than 0, by 0
// or more, by more than 0.
enum class Lead { nowhere, down, back, anywhere, away };

// There are few different sets, so each gets a number; 0 is the empty set. A register may contain something that is not
// in its set, unless all members of the set are numbers.
class OriginSets {
 public:
  using Id = std::uint16_t;
  using Set = std::vector<std::uint32_t>;

  OriginSets() { number({}); }
  OriginSets(const OriginSets&) = delete;
  // The reference stays valid when other sets are added.
  const Set& of(Id id) const { return *sets_[id]; }
  // True once there are too many sets.
  bool full() const { return full_; }
  bool has(Id id, std::uint32_t origin) const;
  bool is_constant(Id id) const { return has(id, origin::kConstant) || (are_numbers(id) && !has(id, origin::kNumber)); }
  bool is_zero(Id id) const { return of(id) == Set{origin::kNumber}; }
  bool are_numbers(Id id) const { return id != 0 && origin::is_number(of(id).front()); }

  Id number(Set set);
  Id one(std::uint32_t origin) { return number({origin}); }
  // For a register that has one value or the other.
  Id join(Id a, Id b);
  // For a value that is computed from both. If it is a sum, `lead` says how the sum moves an address.
  Id together(Id a, Id b, Lead lead);
  Id led(Id id, Lead lead);
  // Drops the marks that stay only if they hold on all paths.
  Id uncertain(Id id);
  // For the result of any calculation with the value except a move.
  Id blurred(Id id);
  // marks(): the marks that stay in a number computed from the value. without_marks(): the value's origins except
  // marks.
  Id marks(Id id);
  Id without_marks(Id id);
  // For the sum of both: keeps the origins that may make it an address, and drops the marks that stay only if they hold
  // on all paths.
  Id sum(Id a, Id b);

 private:
  static constexpr std::size_t kMostNumbers = 16, kMostPlaces = 32;

  static Set bounded(Set set);
  Id moved(Id places, Id by);

  std::map<Set, Id> ids_;
  std::vector<const Set*> sets_;  // by number; points into ids_
  std::unordered_map<std::uint32_t, Id> joined_, sums_;
  bool full_ = false;
};

}  // namespace cudadiag::sass
