// Tracks which parameters the values in registers come from, and how each instruction changes that. Internal to
// lib/sass.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sass/control_flow.h"
#include "sass/kernel_accesses.h"

namespace cudadiag::sass {

// One possible source of a register's value, or of a part of it:
//
//   word      half of a parameter word, perhaps plus something; the value is its offset, a multiple of 4
//   place     lower half of the address of a parameter word; the value is the offset of that word
//   kUpper    upper half of the address of a parameter word
//   number    exactly this number
//   kTop      any parameter word
//   kThread   something computed from a thread or block number, and perhaps from other values
//   kAddend   a parameter, or a sum or product that contains one: likely more than 0 for every thread
//   kBefore   a number less than 0
//   kConstant a number in the code other than 0, whose value is not tracked
//   kOther    on another path, a value without a source, such as one from memory
//
// These flags modify an origin:
//
//   kIndexed  a word or place in the array that begins at this offset
//   kChosen   with kIndexed: the index of a word does not come from a thread or block number, so all threads may use
//             the same element
//   kMoved    for a lower half: plus something that may be 0 for some thread
//   kShifted  for a lower half: plus something that is likely not 0 for any thread
namespace origin {
inline constexpr std::uint32_t kTop = 0xffffffff, kIndexed = 0x80000000;
inline constexpr std::uint32_t kPlace = 0x40000000, kNumber = 0x20000000, kUpper = 0x10000000, kChosen = 0x08000000;
inline constexpr std::uint32_t kMoved = 0x04000000, kShifted = 0x02000000;
inline constexpr std::uint32_t kThread = kUpper | 1, kAddend = kUpper | 2, kBefore = kUpper | 3;
inline constexpr std::uint32_t kConstant = kUpper | 4, kOther = kUpper | 5;
inline constexpr std::uint32_t kValue = 0x01ffffff;
constexpr bool is_place(std::uint32_t origin) { return origin != kTop && (origin & kPlace) != 0; }
constexpr bool is_number(std::uint32_t origin) { return origin != kTop && (origin & kNumber) != 0; }
constexpr bool is_word(std::uint32_t origin) { return (origin & (kPlace | kNumber | kUpper)) == 0; }
// Returns whether the origin is a mark that is kept only if it holds on all paths.
constexpr bool is_certain(std::uint32_t origin) { return origin >= kAddend && origin <= kConstant; }
constexpr bool is_mark(std::uint32_t origin) { return origin == kThread || is_certain(origin); }
constexpr bool is_indexed(std::uint32_t origin) { return (origin & kIndexed) != 0; }
constexpr bool is_chosen(std::uint32_t origin) { return origin != kTop && (origin & kChosen) != 0; }
constexpr std::uint32_t value_of(std::uint32_t origin) { return origin & kValue; }
}  // namespace origin

// The change when a number is added to an address. `nowhere`: none. `down`: at most 0. `back`: less than 0. `anywhere`:
// at least 0, or unknown. `away`: more than 0.
enum class Lead { nowhere, down, back, anywhere, away };

// Stores each distinct set once, under an id; 0 is the empty set. A set that contains only numbers is exhaustive. With
// any other set, a register may also hold a value from a different source.
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
  // Returns the set for a register that holds one of the two values, depending on the path. Adds kOther if one of them
  // may be an address and the other has no source.
  Id either(Id a, Id b);
  // Returns the set of the sources of both values.
  Id join(Id a, Id b);
  // Returns the set for a value computed from both values. If the value is a sum, `lead` describes how an address moves
  // when the value is added to it.
  Id together(Id a, Id b, Lead lead);
  Id led(Id id, Lead lead);
  // Drops the marks that are kept only if they hold on all paths.
  Id uncertain(Id id);
  // Returns the set for the result of any calculation with the value except a move.
  Id blurred(Id id);
  // marks() returns the marks that remain when a number is computed from the value. without_marks() returns the other
  // origins.
  Id marks(Id id);
  Id without_marks(Id id);
  // Returns the set for the sum of both values. Keeps the origins through which the sum may be an address. Drops the
  // marks that uncertain() drops.
  Id sum(Id a, Id b);

 private:
  static constexpr std::size_t kMostNumbers = 16, kMostPlaces = 32;

  static Set bounded(Set set);
  Id moved(Id places, Id by);

  std::map<Set, Id> ids_;
  std::vector<const Set*> sets_;  // by id; points into ids_
  std::unordered_map<std::uint32_t, Id> joined_, sums_;
  bool full_ = false;
};

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

// Applies the effect of each instruction to the origins of registers and memory.
class Instructions {
 public:
  Instructions(const Program& program, ParameterBank bank, Calls calls, ZeroWords zeros, OriginSets& sets);

  void step(std::uint32_t at, Registers& state);
  // Starts recording accesses.
  void begin_noting() { noting_ = true; }

  // Changes whenever something new is stored in shared or local memory. Loads must then be visited again.
  std::uint32_t memory_version() const { return memory_version_; }
  const std::set<CodeAccess>& accesses() const { return accesses_; }
  bool writes_elsewhere() const { return writes_elsewhere_; }
  const std::map<std::uint32_t, std::set<CodeAccess>>& accesses_by_instruction() const { return by_instruction_; }
  const std::map<std::uint32_t, HandleUse>& handles_by_instruction() const { return handles_; }

 private:
  using Id = OriginSets::Id;
  // The halves of an address.
  struct Halves {
    Id low = 0, high = 0;
  };
  struct Step {
    const Instruction& i;
    Registers& state;
    std::uint32_t condition;  // kNone if unconditional
  };

  Id read(const Step& s, Slot slot) const { return s.state.get(slot, s.condition); }
  void set(const Step& s, Slot slot, Id value) { s.state.set(slot, value, s.condition); }
  void call(const Step& s);
  void move(const Step& s);
  void shuffle(const Step& s);
  void add(const Step& s);
  void compute(const Step& s);
  void load_special(const Step& s);
  void access(const Step& s);
  void load_shared(const Step& s);
  void store_shared(const Step& s);
  void load_local(const Step& s);
  void store_local(const Step& s);
  void use_address(const Step& s);
  void use_box(const Step& s);
  void use_handle(const Step& s);
  void escape(const Step& s);

  // A term of a sum.
  struct Term {
    Id id = 0;
    Lead lead = Lead::nowhere;
    bool constant = false;
  };
  Lead lead_of(const Operand& operand, Id id) const;
  Term product(const Step& s, const std::vector<const Operand*>& factors);
  Id made_of(const Step& s, std::vector<Term> terms, const Term& product);
  static Lead lead_of_sum(const std::vector<Term>& terms, std::size_t without);
  std::vector<Id> led_by_others(const std::vector<Term>& terms);
  Id parameter(std::uint32_t word);
  Id constant(const Step& s, const Operand& operand, std::uint32_t half);
  Id indexed(Id index, std::uint32_t offset);
  Id value(const Step& s, const Operand& operand, std::uint32_t half);
  void set_words(const Step& s, Id value);
  void put(Id& pool, Id value);
  std::uint32_t stack_word(const Step& s, std::uint32_t word) const;
  void set_loaded(const Step& s, const Halves& place);
  Halves place(const Step& s);
  void note(const Halves& place, Mode mode);
  void note(CodeAccess access);
  std::optional<std::uint32_t> handle_word(const Step& s) const;

  const Program& program_;
  const ParameterBank bank_;
  const Calls calls_;
  const ZeroWords zeros_;
  OriginSets& sets_;
  bool stack_holds_still_ = false;  // the stack pointer does not change after the first use of local memory
  Id pool_ = 0;                     // everything that was stored in shared and local memory
  Id anywhere_on_stack_ = 0;        // the part of pool_ that may be in any word of the stack
  std::uint32_t memory_version_ = 0;
  bool noting_ = false;
  std::uint32_t at_ = 0;  // index of the current instruction
  std::set<CodeAccess> accesses_;
  bool writes_elsewhere_ = false;
  std::map<std::uint32_t, std::set<CodeAccess>> by_instruction_;
  std::map<std::uint32_t, HandleUse> handles_;
};

// Follows all paths through the program. Returns false if this takes too long.
bool walk(const Program& program, Instructions& instructions, OriginSets& sets);

}  // namespace cudadiag::sass
