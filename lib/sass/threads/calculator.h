// Executes instructions on values that describe all threads of a box. If the result differs between threads,
// needed_cut() returns where to cut the box. The caller then executes the instruction again for each part. Internal to
// lib/sass.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sass/byte_ranges.h"
#include "sass/code/lines.h"
#include "sass/threads/forms.h"
#include "sass/threads/thread_code.h"

namespace cudadiag::sass {

// Holds the registers and predicates of all threads of a box.

// A number has 32 bits: its form is between 0 and 2^32 - 1 for every thread of the box. `low` and `high` are the halves
// of an address: the address in the parameter word plus the form.
struct Value {
  enum class Kind : std::uint8_t { unknown, number, low, high };
  Kind kind = Kind::unknown;
  std::uint32_t word = 0;
  Form form;
  bool operator==(const Value&) const = default;
};

inline constexpr std::int64_t kWord = std::int64_t{1} << 32;

inline Value number_of(std::int64_t value) { return {Value::Kind::number, 0, constant(value)}; }

inline bool is_number(const Value& value) { return value.kind == Value::Kind::number; }

// `carry`: the carry from adding `more` (0 to 2^32) to the lower half of an address plus `form`. `number`: a known
// carry from 0 to 2. If two predicates receive the carries of one sum, both have the same nonzero `shared`, and only
// the total of both carries is known.
struct Truth {
  enum class Kind : std::uint8_t { unknown, no, yes, carry, number };
  Kind kind = Kind::unknown;
  std::uint32_t word = 0, shared = 0;
  Form form, more;
};

constexpr Truth truth_of(bool value) {
  Truth out;
  out.kind = value ? Truth::Kind::yes : Truth::Kind::no;
  return out;
}

struct ThreadState {
  std::array<Value, kStack> registers;
  std::array<Truth, 32> predicates;
  std::map<std::uint32_t, Value> stack;    // the known words of local memory, by address
  std::array<std::uint32_t, 16> barriers;  // where the threads that wait at each barrier continue
  std::uint32_t at = 0;                    // the next instruction

  ThreadState() { barriers.fill(kNone); }
  // Forgets the registers and predicates that the instruction may have written.
  void forget(const Written& written);
};

class Calculator {
 public:
  // All arguments must outlive this object.
  Calculator(const Box& box, ThreadState& state, ParameterBank bank, const LaunchValues& launch)
      : box_(box), state_(state), bank_(bank), launch_(launch) {}

  // Executes an instruction that computes a result. If the box must be cut, leaves the state unchanged.
  struct Step {
    const Instruction& i;
    const ThreadInstruction& code;
    std::uint32_t at;
  };
  void compute(const Step& step);
  // Returns nullopt if the condition is unknown, or the box must be cut.
  std::optional<bool> holds(const Condition& condition);
  // The parameter word that an address is based on, if any, and the form that is added to the word.
  struct Address {
    std::optional<std::uint32_t> word;
    Form form;
  };
  std::optional<Address> address(const ThreadInstruction& code);
  std::optional<std::int64_t> number(const Value& value) const;
  std::optional<Form> form_of(const Source& source);
  Value read(const Source& source, std::uint32_t half = 0);
  // Returns whether the instruction moves numbers or parameters to registers that already contain them.
  bool moves_what_is_there(const ThreadInstruction& code);

  const std::optional<Cut>& needed_cut() const { return cut_; }

 private:
  using Values = std::span<const Value>;

  // ---- forms, for all threads of the box
  std::optional<bool> less(const Form& form, std::int64_t than);
  std::optional<std::int64_t> quotient(const Form& form, unsigned shift);
  std::optional<Form> with_sign(const Form& number);
  Value word(const Form& form);

  // ---- operands
  Value as_number(const Value& value);
  Value read_constant(std::uint32_t offset) const;
  Value with_sign_of(const Source& source, const Value& value);
  struct Pair {
    bool known = false, pointer = false;
    std::uint32_t word = 0;
    Form form;
  };
  Pair read_pair(const Source& source);
  static Pair sum_of(const Pair& a, const Pair& b);
  Truth read(const Condition& condition) const;

  // ---- instructions
  struct Sum {
    Value value;
    Truth carry;
  };
  Sum added(Values values, std::span<const Condition> conditions);
  Sum added_to_pointer(const Value& pointer, const Form& rest, const Truth* carry);
  // The contribution of predicates to a sum.
  struct Carries {
    bool known = false;
    std::int64_t number = 0;
    const Truth* of_pointer = nullptr;
  };
  Carries carries_of(std::span<const Condition> conditions) const;
  Value product(const Value& a, const Value& b);
  Value shifted_left(const Value& a, std::int64_t by);
  Value shifted_right(const Value& a, std::int64_t by, bool with_sign);
  Value upper_of_shifted(const Value& low, const Value& high, std::int64_t by);
  Value masked(const Form& form, std::uint32_t mask);
  void add(const Step& step);
  void add_pairs(const Step& step);
  void multiply(const Step& step);
  void multiply_wide(const Step& step);
  void multiply_high(const Step& step);
  void scale(const Step& step);
  void shift(const Step& step);
  void combine(const Step& step);
  Value combined(const Value& a, const Value& b, const Value& c, std::uint32_t table);
  Value united(const Form& a, const Form& b);
  void absolute(const Step& step);
  void least(const Step& step);
  void move(const Step& step);
  void choose(const Step& step);
  void special(const Step& step);
  void compare(const Step& step);
  std::optional<bool> compared(const Step& step);
  std::optional<bool> compared_forms(const Instruction& i, const Form& a, const Form& b);
  void decide(const Step& step);

  void set(Slot slot, const Value& value);
  void set_pair(Slot slot, const Pair& pair);
  void set_sum(const ThreadInstruction& code, const Sum& sum, std::uint32_t at);
  void set(const Condition& predicate, const Truth& truth);

  const Box& box_;
  ThreadState& state_;
  const ParameterBank bank_;
  const LaunchValues& launch_;
  std::optional<Cut> cut_;
  // The results of the current instruction, stored after all operands are read. A register may be both an operand and a
  // result.
  std::vector<std::pair<Slot, Value>> values_;
  std::vector<std::pair<Slot, Truth>> truths_;
};

}  // namespace cudadiag::sass
