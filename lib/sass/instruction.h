// Decodes a line of nvdisasm's text into an instruction with typed operands. A table says what each opcode does, what
// it writes and which memory it uses. Every analysis of code reads it, so a new opcode is one word in one line of
// opcodes.cc. Internal to lib/sass.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

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

// Which other threads an opcode depends on. `lanes`: those of the warp, whose registers it reads. `warp`: it waits for
// the warp. `block`: it is a barrier of the block. `others`: it waits for something else, such as the cluster.
enum class Joins : std::uint8_t { none, lanes, warp, block, others };

struct Opcode {
  std::string_view names;
  Op op = Op::other;
  Result result = Result::many;
  Shape shape = Shape::none;
  AccessKind kind = AccessKind::load;
  Space space = Space::global;
  Joins joins = Joins::none;
};

// Returns the row of an opcode, such as "LDG" or "UIADD3". A leading U marks the same operation on uniform registers.
// `describes_memory`: a descriptor of memory is among the operands. An unknown opcode then may use that memory.
const Opcode& opcode_of(std::string_view base, bool describes_memory);
bool is_known(const Opcode& code);

// Registers are numbered R0..R255, then UR0..UR255, and then the first words of the stack, which are treated like
// registers. Predicates follow: P0..P15, then UP0..UP15. RZ, PT and everything that is not a register are kNone.
using Slot = std::uint32_t;
inline constexpr std::uint32_t kNone = ~0u;
inline constexpr Slot kUniform = 256, kStack = 512, kStackWords = 256, kRegisters = kStack + kStackWords;
inline constexpr Slot kStackPointer = 1;
inline constexpr Slot kFirstPredicate = 1024, kFirstUniformPredicate = kFirstPredicate + 16;
constexpr bool is_predicate_slot(Slot slot) { return slot >= kFirstPredicate; }
constexpr bool is_uniform_slot(Slot slot) {
  return slot >= kFirstUniformPredicate || (slot >= kUniform && slot < kStack);
}

// A predicate that is read or written: "P0", "!UP1". `slot` is kNone for PT and UPT.
struct Condition {
  Slot slot = kNone;
  bool negated = false;
};

// A value that an instruction reads.
struct Operand {
  // `bank`: a word of constant bank 0. `unclear`: a word of that bank in a form that is not understood. `variable`: a
  // word of bank 4, which holds the addresses of the module's variables.
  enum class Kind : std::uint8_t { other, number, slot, bank, unclear, variable };
  Kind kind = Kind::other;
  bool negative = false, complement = false;
  bool part = false;                                     // an absolute value, or a part of the register
  Slot slot = kNone;                                     // the register or, in the bank, the index register
  std::uint32_t offset = 0;                              // in the bank
  std::array<std::optional<std::uint32_t>, 2> number{};  // the two halves of 64 bits

  bool is(std::uint32_t value) const { return kind == Kind::number && !negative && !complement && number[0] == value; }
  bool is_plain() const { return !negative && !complement; }
};

// A term of an address. `unsure`: a register without a suffix next to other terms, which may have 64 bits, or 32 bits
// with or without a sign.
struct AddressTerm {
  enum class Width : std::uint8_t { half, pair, unsure };
  Operand value;
  Width width = Width::half;
  std::uint32_t factor = 1;
};

// The registers and predicates that an instruction may write.
struct Written {
  Slot first = kNone;  // kNone if no register is written
  std::uint32_t count = 0;
  Slot second = kNone;           // first of 8 more registers; kNone if there are none
  std::uint32_t predicates = 0;  // one bit per predicate
  bool everything = false;

  bool has(Slot slot) const;
  // Calls `visit` with each register.
  template <typename Visit>
  void each_register(const Visit& visit) const {
    for (const auto& [begin, length] : {std::pair(first, count), std::pair(second, 8u)}) {
      const Slot end = begin >= kUniform ? kStack : kUniform;
      for (Slot each = begin; begin != kNone && each < std::min(begin + length, end); ++each) visit(each);
    }
  }
};

// The known modifiers of opcodes, such as X in "IADD3.X". Each has a bit.
inline constexpr std::string_view kModifiers[] = {
    "X",   "EX",   "W",   "HI",  "L",   "R",   "LUT",      "WIDE",   "SX32",    "MOV",       "IADD",  "32",
    "64",  "128",  "256", "U8",  "S8",  "U16", "S16",      "U32",    "S32",     "U64",       "S64",   "F64",
    "F16", "BF16", "OR",  "AND", "LT",  "LE",  "GT",       "GE",     "EQ",      "NE",        "DIV",   "CONV",
    "REL", "BA",   "1D",  "2D",  "3D",  "4D",  "1D_ARRAY", "F32x2",  "F32x4",   "2D_ARRAY",  "F16x4", "F16x8",
    "ADD", "MIN",  "MAX", "INC", "XOR", "DEC", "BF16x4",   "BF16x8", "BF16_V2", "MULTICAST", "SHL",   "MMA"};

constexpr std::uint64_t modifier_bit(std::string_view name) {
  for (std::size_t at = 0; at < std::size(kModifiers); ++at) {
    if (kModifiers[at] == name) return std::uint64_t{1} << at;
  }
  return 0;
}

// A name as a template argument.
template <std::size_t Size>
struct Name {
  char text[Size];
  constexpr Name(const char (&name)[Size]) { std::copy_n(name, Size, text); }
};

struct Instruction {
  std::uint32_t address = 0;
  std::string_view opcode;  // "LDG.E.128"
  const Opcode* code = nullptr;
  Op op = Op::other;
  std::uint64_t modifiers = 0;
  Condition condition;
  bool runs = true;        // false if the condition is never true
  bool relocated = false;  // its immediate is unknown (kRelocated)
  std::vector<std::string_view> operands;
  // The operands by role.
  std::vector<Condition> results;     // predicates in front of the destination
  std::vector<Condition> carries;     // predicates after it
  std::vector<Condition> conditions;  // predicates that it reads
  std::vector<Operand> values;        // other operands after the destination
  std::vector<AddressTerm> place;     // of its memory; empty without one
  bool readable = false;              // all terms of the address are understood
  std::uint32_t words = 1;            // number of registers that it moves
  std::uint32_t bytes = 0;  // that a thread reads or writes; 0 if a register contains the size, or for a whole texel
  std::uint32_t barrier = 0;
  std::uint32_t target = kNone;  // index of the instruction to which it jumps
  Written written;

  // Returns "LDG" for "LDG.E.128".
  std::string_view base() const { return opcode.substr(0, opcode.find('.')); }
  // Whether the opcode has a modifier: i.has<"X">().
  template <Name Modifier>
  bool has() const {
    constexpr std::uint64_t kBit = modifier_bit(Modifier.text);
    static_assert(kBit != 0);
    return (modifiers & kBit) != 0;
  }
  bool is_plain() const { return opcode.find('.') == std::string_view::npos; }
  bool is_conditional() const { return condition.slot != kNone || !runs; }
  Slot to() const { return written.first; }
  bool moves_whole() const {
    return op == Op::move && !has<"U8">() && !has<"S8">() && !has<"U16">() && !has<"S16">() && !has<"OR">();
  }
  // Returns whether it loads from memory that kernels share.
  bool is_load() const {
    return code->shape == Shape::plain && code->kind == AccessKind::load &&
           (code->space == Space::global || code->space == Space::generic);
  }
  bool uses_memory() const { return code->shape != Shape::none; }
  // Returns whether the operand can be an address if the result is one. Factors and shift counts never are addresses.
  bool may_pass_address(std::size_t value) const;
};
// Decodes "/*0050*/   @P0 LDG.E R7, desc[UR4][R2.64] ;".
std::optional<Instruction> parse_instruction(std::string_view line);
// Parses "0x1f0"; returns nullopt for anything else.
std::optional<std::uint32_t> parse_hex(std::string_view text);

// Returns the register in an operand: 11 for "-R11.reuse".
Slot register_of(std::string_view operand);
// Returns all registers in an operand, alone or in an address.
std::vector<Slot> registers_in(std::string_view operand);
bool is_predicate(std::string_view operand);
Condition condition_of(std::string_view predicate);
Operand operand_of(std::string_view text);

// ---- memory

// Whether the instruction accesses memory at the address among its operands.
bool has_address(const Instruction& i);
Mode mode_of(const Instruction& i);

// A coordinate of a texel or of a tensor copy. For a texel, axis 0 is the position in the row (in bytes or texels).
// Axis 1 is the row, and axis 2 is the layer. For a tensor, the axis is the dimension.
struct Coordinate {
  std::size_t axis = 0;
  Operand value;
};
// Returns the coordinates of a texel, or of the first element of a tensor copy's box; empty if unknown.
std::vector<Coordinate> coordinates_of(const Instruction& i);

// ---- constant bank 0

// Where the driver stores what it tells a kernel, as offsets in bytes. Code can read its parameters through their
// address, like memory. Compilers use that address; sm_90 kernels of cuBLAS use the one of the bank.
struct BankLayout {
  std::uint32_t parameters;                              // differs between architectures
  std::uint32_t block, grid;                             // the sizes, three words each
  std::uint32_t address_of_parameters, address_of_bank;  // 0 if unknown
};
// Returns null for an unknown architecture.
const BankLayout* bank_layout(ParameterBank bank);

using Sizes = std::array<std::uint32_t, 3>;
// Returns a word of the bank: of the parameters, or one of the sizes of the grid and the block; nullopt if unknown.
std::optional<std::uint32_t> word_in_bank(ParameterBank bank, std::uint32_t offset, std::string_view parameters,
                                          const std::optional<Sizes>& grid, const std::optional<Sizes>& block);

// Returns the word at the offset, such as one of constant bank 4; nullopt if it is not among the bytes.
std::optional<std::uint32_t> word_at(std::string_view bytes, std::uint32_t offset);

}  // namespace cudadiag::sass
