// Decodes a kernel's instructions once, so that they can be executed for many threads. Internal to lib/sass.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sass/code/arithmetic.h"
#include "sass/code/flow.h"
#include "sass/code/lines.h"
#include "sass/mode.h"

namespace cudadiag::sass {

enum class Op : std::uint8_t {
  nothing,  // no effect on the thread's registers
  forget,   // its results are unknown
  move,
  choose,
  special,
  add,
  add_pairs,
  multiply,
  multiply_wide,
  multiply_high,
  scale,
  shift,
  combine,
  absolute,
  least,
  compare,
  decide,
  jump,
  exit,
  set_barrier,
  sync,
  call,
  back,
  access,
  local,  // a load or store of the thread's own stack
  lost,   // we do not know what runs next
};

struct Condition {
  Slot slot = kNone;  // kNone if the condition is always true
  bool negated = false;
};

// An operand that the instruction reads.
struct Source {
  enum class Kind : std::uint8_t { unknown, number, slot, constant };
  Kind kind = Kind::unknown;
  std::uint32_t slot = kNone;                            // the register or, for a constant, the index register
  std::uint32_t offset = 0;                              // offset in constant bank 0
  std::array<std::optional<std::uint32_t>, 2> number{};  // the two halves
  bool negative = false, complement = false;
};

// A term of an address: 64 bits if `pair`, otherwise 32 unsigned bits. `sure` is false if a pair may also be a 32-bit
// number, with or without a sign.
struct AddressTerm {
  Source source;
  bool pair = false, sure = true;
};

// A coordinate of a texel or of a tensor copy. For a texel, axis 0 is the position in the row (in bytes or texels).
// Axis 1 is the row, and axis 2 is the layer. For a tensor, the axis is the dimension.
struct Coordinate {
  std::size_t axis = 0;
  Source source;
};

struct ThreadInstruction {
  Op op = Op::forget;
  Condition condition;
  Slot to = kNone;                 // the first register that it writes
  std::uint32_t words = 1;         // number of registers that it moves
  std::vector<Condition> results;  // predicates in front of the destination
  std::vector<Condition> carries;  // carry predicates that it sets
  std::vector<Source> values;
  std::vector<Condition> conditions;  // predicates that it reads
  std::uint32_t target = kNone;       // target of a jump, call or barrier
  std::uint32_t barrier = 0;
  std::uint32_t width = 0;              // bytes of an access; 0 for a whole texel
  Mode mode = Mode::read;               // mode of an access
  std::vector<AddressTerm> address;     // terms of an access's address; empty if unknown
  std::vector<Coordinate> coordinates;  // coordinates of a texel or of a tensor copy; empty if unknown
  bool tile = false;                    // the coordinates are those of the first element of a tensor copy's box
  bool generic = false;                 // the address of an access may refer to memory of any kind
  bool uses_memory = false;             // true for memory of any kind, even if the access is not followed
};

class ThreadCode {
 public:
  // `program` must outlive this object.
  explicit ThreadCode(const Program& program);

  const ThreadInstruction& operator[](std::uint32_t at) const { return code_[at]; }
  std::uint64_t unknown_opcodes() const { return unknown_; }

 private:
  std::vector<ThreadInstruction> code_;
  std::uint64_t unknown_ = 0;
};

}  // namespace cudadiag::sass
