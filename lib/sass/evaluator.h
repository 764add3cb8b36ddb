// Evaluates instructions. A value is a linear function of a thread's coordinates, for all threads of a box; a box of a
// single thread has plain numbers. Inputs says where operands come from: the registers of threads that are followed, or
// what is known of a thread that failed. If the result differs between threads, needed_cut() returns where to cut the
// box. The caller then evaluates the instruction again for each part. Internal to lib/sass.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "sass/instruction.h"
#include "sass/linear_forms.h"

namespace cudadiag::sass {

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

  std::optional<bool> known() const {
    if (shared != 0 || (kind != Kind::yes && kind != Kind::no)) return std::nullopt;
    return kind == Kind::yes;
  }
};

constexpr Truth truth_of(bool value) {
  Truth out;
  out.kind = value ? Truth::Kind::yes : Truth::Kind::no;
  return out;
}

// The domain: supplies the values of operands, which may be unknown.
class Inputs {
 public:
  virtual ~Inputs() = default;
  virtual Value word(Slot slot) = 0;
  virtual Truth truth(Slot slot) = 0;
  virtual Value bank(std::uint32_t offset) = 0;         // a word of constant bank 0
  virtual Value variable(std::uint32_t) { return {}; }  // a word of constant bank 4
  virtual Value special(std::string_view name) = 0;
  // Returns the address in a parameter word, if code that takes it apart may get its value; otherwise 0.
  virtual std::uint64_t base_of(std::uint32_t) { return 0; }
};

// Returns which coordinate of a thread is in a special register, such as "SR_TID.X".
std::optional<std::size_t> axis_of(std::string_view special);

class Evaluator {
 public:
  // Both arguments must outlive this object.
  Evaluator(const Box& box, Inputs& inputs) : box_(box), inputs_(inputs) {}

  // Evaluates an instruction. `at` is its index. If the box must be cut, the results are not valid.
  void evaluate(const Instruction& i, std::uint32_t at);
  // The results of the instruction; what is missing is unknown.
  const std::vector<std::pair<Slot, Value>>& values() const { return values_; }
  const std::vector<std::pair<Slot, Truth>>& truths() const { return truths_; }
  const std::optional<Cut>& needed_cut() const { return cut_; }
  void forget_cut() { cut_.reset(); }

  // Returns nullopt if the condition is unknown.
  std::optional<bool> holds(const Condition& condition);
  // The parameter word that an address is based on, if any, and the form that is added to the word.
  struct Address {
    std::optional<std::uint32_t> word;
    Form form;
  };
  // Returns nullopt if the address is unknown, or the box must be cut.
  std::optional<Address> address(const Instruction& i);
  std::optional<std::int64_t> number(const Value& value) const;
  std::optional<Form> form_of(const Operand& operand);
  Value read(const Operand& operand, std::uint32_t half = 0);

 private:
  using Values = std::span<const Value>;
  using Conditions = std::span<const Condition>;

  // ---- forms, for all threads of the box
  std::optional<bool> less(const Form& form, std::int64_t than);
  std::optional<std::int64_t> quotient(const Form& form, unsigned shift);
  std::optional<Form> with_sign(const Form& number);
  // Reads the number as the instruction does: with a sign, unless it has the modifier U32.
  std::optional<Form> as_read_by(const Instruction& i, const Form& number);
  Value word(const Form& form);

  // ---- operands
  Value as_number(const Value& value);
  Value with_sign_of(const Operand& operand, const Value& value);
  Value read_signed(const Operand& operand) { return with_sign_of(operand, read(operand)); }
  struct Pair {
    bool known = false, pointer = false;
    std::uint32_t word = 0;
    Form form;
  };
  Pair read_pair(const Operand& operand);
  static Pair sum_of(const Pair& a, const Pair& b);

  // ---- instructions
  struct Sum {
    Value value;
    Truth carry;
  };
  Sum added(Values values, Conditions carries = {});
  Sum added_to_pointer(const Value& pointer, const Form& rest, const Truth* carry);
  // The contribution of predicates to a sum.
  struct Carries {
    bool known = false;
    std::int64_t number = 0;
    std::optional<Truth> of_pointer{};
  };
  Carries carries_of(Conditions conditions);
  Value product(const Value& a, const Value& b);
  Value shifted_left(const Value& a, std::int64_t by);
  Value shifted_right(const Value& a, std::int64_t by, bool with_sign);
  Value upper_of_shifted(const Value& low, const Value& high, std::int64_t by);
  Value masked(const Form& form, std::uint32_t mask);
  void move(const Instruction& i);
  void move_part(const Instruction& i);
  void choose(const Instruction& i);
  void special(const Instruction& i);
  void add(const Instruction& i, std::uint32_t at);
  void multiply(const Instruction& i, std::uint32_t at);
  void multiply_wide(const Instruction& i);
  void multiply_high(const Instruction& i);
  void scale(const Instruction& i, std::uint32_t at);
  void shift(const Instruction& i);
  void combine(const Instruction& i);
  Value combined(const std::array<Value, 3>& inputs, std::uint32_t table);
  Value united(const Form& a, const Form& b);
  void absolute(const Instruction& i);
  void least(const Instruction& i);
  void permute(const Instruction& i);
  void extend(const Instruction& i);
  void reciprocal(const Instruction& i);
  void compare(const Instruction& i);
  std::optional<bool> compared(const Instruction& i);
  std::optional<bool> compared_pairs(const Instruction& i);
  std::optional<bool> compared_forms(const Instruction& i, const Form& a, const Form& b);
  void decide(const Instruction& i);

  void set(Slot slot, const Value& value);
  void set_pair(Slot slot, const Pair& pair);
  void set_sum(const Instruction& i, const Sum& sum, std::uint32_t at);
  void set(const Condition& predicate, const Truth& truth);

  const Box& box_;
  Inputs& inputs_;
  std::optional<Cut> cut_;
  std::vector<std::pair<Slot, Value>> values_;
  std::vector<std::pair<Slot, Truth>> truths_;
};

}  // namespace cudadiag::sass
