// A kernel's instructions, taken apart once, as far as they matter for addresses. Internal to the room.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "sass/code/arithmetic.h"
#include "sass/code/flow.h"
#include "sass/code/written.h"
#include "sass/mode.h"

namespace cudadiag::sass {

enum class Op : std::uint8_t {
  nothing,  // no effect on the thread's registers
  forget,   // its results are not known
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
  lost,  // where it leads is not known
};

struct Condition {
  Slot slot = kNone;  // kNone: it always holds
  bool negated = false;
};

// An operand that is read.
struct Source {
  enum class Kind : std::uint8_t { unknown, number, slot, constant };
  Kind kind = Kind::unknown;
  std::uint32_t slot = kNone;  // of a register; of a constant: the register that is added to its place
  std::uint32_t offset = 0;    // in constant bank 0
  std::array<std::optional<std::uint32_t>, 2> number{};  // the halves
  bool negative = false, complement = false;
};

// A part of an address: 64 bits, or 32 without a sign. Sure: the instruction says which.
struct AddressTerm {
  Source source;
  bool pair = false, sure = true;
};

struct ThreadInstruction {
  Op op = Op::forget;
  Condition condition;
  Slot to = kNone;                 // the first register that it writes
  std::uint32_t words = 1;         // that are moved
  std::vector<Condition> results;  // predicates in front of the destination
  std::vector<Condition> carries;  // that it sets
  std::vector<Source> values;
  std::vector<Condition> conditions;  // that it reads
  std::uint32_t target = kNone;       // of a jump, call or barrier
  std::uint32_t barrier = 0;
  std::uint32_t width = 0;           // bytes of an access
  Mode mode = Mode::read;            // of an access
  std::vector<AddressTerm> address;  // empty: it cannot be read
};

class ThreadCode {
 public:
  // `program` must outlive this.
  explicit ThreadCode(const Program& program);

  const ThreadInstruction& operator[](std::uint32_t at) const { return code_[at]; }
  std::uint64_t unknown_opcodes() const { return unknown_; }

 private:
  std::vector<ThreadInstruction> code_;
  std::uint64_t unknown_ = 0;
};

}  // namespace cudadiag::sass
