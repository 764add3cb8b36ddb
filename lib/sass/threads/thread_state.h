// The contents of registers and predicates, for all threads of a box. Internal to the room.
#pragma once

#include <array>
#include <cstdint>

#include "sass/code/lines.h"
#include "sass/code/written.h"
#include "sass/threads/forms.h"

namespace cudadiag::sass {

// A number has 32 bits: its form is from 0 to 2^32 - 1 for every thread of the box. `low` and `high` are the halves of
// an address: that in the word of the parameters, plus the form.
struct Value {
  enum class Kind : std::uint8_t { unknown, number, low, high };
  Kind kind = Kind::unknown;
  std::uint32_t word = 0;
  Form form;
  bool operator==(const Value&) const = default;
};

// `carry`: that of the lower half of an address, with `form` added to it so far, when `more` is added, from 0 to 2^32.
// `number`: a carry from 0 to 2. Two predicates that share the carries of one sum have the same number here, not 0, and
// mean something together alone.
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
  std::array<std::uint32_t, 16> barriers;  // where those that wait at one continue
  std::uint32_t at = 0;                    // the next instruction

  ThreadState() { barriers.fill(kNone); }
  // Registers and predicates that it may have written are not known any more.
  void forget(const Written& written);
};

}  // namespace cudadiag::sass
