// The table of opcodes: what each one does, what it writes and which memory it uses. Every analysis of code reads it,
// so a new opcode is one word in one line of opcodes.cc. Internal to lib/sass.
#pragma once

#include <cstdint>
#include <string_view>

#include "sass/kernel_accesses.h"

namespace cudadiag::sass {

enum class Op : std::uint8_t {
  other,    // computes something that may be, or contain, each of its operands
  number,   // computes a number that is never an address, such as a floating-point number
  integer,  // as `number`, from integers alone
  access,   // uses memory
  // Instructions that are evaluated.
  move,
  choose,
  special,
  add,
  multiply,
  scale,
  shift,
  combine,
  absolute,
  least,
  permute,
  extend,
  halves,  // the result is two numbers of 16 bits
  compare,
  decide,
  set_predicates,  // sets predicates in some other way
  shuffle,
  // Instructions that change no register.
  nothing,
  meet,  // waits for the other threads of the warp
  jump,
  table_jump,
  exit,
  stop,
  set_barrier,
  sync,
  call,
  back,
};
constexpr bool is_evaluated(Op op) { return op >= Op::move && op <= Op::decide; }

// How many registers an opcode without modifiers writes. `many`: perhaps more than the decoder knows. `tile`: all from
// the first one.
enum class Result : std::uint8_t { none, one, two, many, tile };

// How an opcode uses memory. `plain`: at an address in brackets. `bulk`: one of two such addresses is global. `box`: a
// box of a tensor. `texture` and `surface`: through a handle. `hidden`: perhaps at any address among its operands.
// `own`: memory that kernels do not share, in a way that is not followed.
enum class Shape : std::uint8_t { none, plain, bulk, box, texture, surface, hidden, own };

struct Opcode {
  std::string_view names;
  Op op = Op::other;
  Result result = Result::many;
  Shape shape = Shape::none;
  AccessKind kind = AccessKind::load;
  Space space = Space::global;
};

// Returns the row of an opcode, such as "LDG" or "UIADD3". A leading U marks the same operation on uniform registers.
// `describes_memory`: a descriptor of memory is among the operands. An unknown opcode then may use that memory.
const Opcode& opcode_of(std::string_view base, bool describes_memory);
bool is_known(const Opcode& code);

}  // namespace cudadiag::sass
