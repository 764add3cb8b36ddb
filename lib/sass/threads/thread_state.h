// Holds the registers and predicates of all threads of a box. Internal to lib/sass.
#pragma once

#include <array>
#include <cstdint>

#include "sass/code/lines.h"
#include "sass/code/written.h"
#include "sass/threads/forms.h"

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
};

constexpr Truth truth_of(bool value) {
  Truth out;
  out.kind = value ? Truth::Kind::yes : Truth::Kind::no;
  return out;
}

struct ThreadState {
  std::array<Value, kStack> registers;
  std::array<Truth, 32> predicates;
  std::array<std::uint32_t, 16> barriers;  // where the threads that wait at each barrier continue
  std::uint32_t at = 0;                    // the next instruction

  ThreadState() { barriers.fill(kNone); }
  // Forgets the registers and predicates that the instruction may have written.
  void forget(const Written& written);
};

}  // namespace cudadiag::sass
