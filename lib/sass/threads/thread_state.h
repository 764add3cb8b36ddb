// The contents of registers and predicates, for all threads of a box. Internal to lib/sass.
#pragma once

#include <array>
#include <cstdint>

#include "sass/code/lines.h"
#include "sass/code/written.h"
#include "sass/threads/forms.h"

namespace cudadiag::sass {

// A number has 32 bits: for every thread of the box, its form is from 0 to 2^32 - 1. `low` and `high` are the halves of
// an address, which is the parameter word's address plus the form.
struct Value {
  enum class Kind : std::uint8_t { unknown, number, low, high };
  Kind kind = Kind::unknown;
  std::uint32_t word = 0;
  Form form;
  bool operator==(const Value&) const = default;
};

// `carry`: `form` has been added to the lower half of an address so far, and this is the carry that results from adding
// `more` (0 to 2^32). `number`: a carry from 0 to 2. If two predicates share the carries of one sum, both have the same
// `shared`, which is not 0, and mean something only together.
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
  std::array<std::uint32_t, 16> barriers;  // by barrier: where the threads that wait there continue
  std::uint32_t at = 0;                    // the next instruction

  ThreadState() { barriers.fill(kNone); }
  // Forgets the registers and predicates that the instruction may have written.
  void forget(const Written& written);
};

}  // namespace cudadiag::sass
