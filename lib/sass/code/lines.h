// Splits a line of nvdisasm's text into its parts, and finds what the instruction may write. Internal to lib/sass.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

namespace cudadiag::sass {

struct Instruction {
  std::uint32_t address = 0;
  std::string_view predicate;  // "P0", "!P0", "UP1"; empty if unconditional
  std::string_view opcode;     // "LDG.E.128"
  std::vector<std::string_view> operands;

  // Returns "LDG" for "LDG.E.128".
  std::string_view base() const { return opcode.substr(0, opcode.find('.')); }
  bool has(std::string_view modifier) const;
};

// Returns the name of the same operation on ordinary registers: "IADD3" for "UIADD3".
std::string_view without_u(std::string_view base);
bool is_any(std::string_view text, std::initializer_list<std::string_view> words);
// Parses "/*0050*/   @P0 LDG.E R7, desc[UR4][R2.64] ;".
std::optional<Instruction> parse_instruction(std::string_view line);
// Parses "0x1f0"; returns nullopt for anything else.
std::optional<std::uint32_t> parse_hex(std::string_view text);

// A place in constant bank 0: "c[0x0][0x210]", "c[0x0][R2+0x210]". `index` is kNone without an index register.
struct ConstantPlace {
  std::uint32_t index = 0, offset = 0;
};
std::optional<ConstantPlace> parse_constant(std::string_view operand);
// Returns the text in the last pair of brackets: "R2.64+0x10" in "desc[UR6][R2.64+0x10]".
std::string_view address_in(std::string_view operand);
// Splits an address at each plus: "R2.64" and "0x10" in "R2.64+0x10".
std::vector<std::string_view> terms_in(std::string_view address);

// Registers are numbered R0..R255, then UR0..UR255, and then the first words of the stack, which are treated like
// registers. RZ, URZ and everything that is not a register are kNone.
inline constexpr std::uint32_t kNone = ~0u;
inline constexpr std::uint32_t kUniform = 256, kStack = 512, kStackWords = 256, kRegisters = kStack + kStackWords;
// Returns the register in an operand: 11 for "-R11.reuse".
std::uint32_t register_of(std::string_view operand);
bool is_predicate(std::string_view operand);

// Finds the registers and predicates that an instruction may write.

// A number for each register (lines.h) and each predicate: P0..P15, then UP0..UP15.
using Slot = std::uint32_t;
inline constexpr Slot kFirstPredicate = 1024, kFirstUniformPredicate = kFirstPredicate + 16;

// Returns the slot of "P3" or "!UP1"; kNone for PT, UPT and everything that is not a predicate.
Slot predicate_slot(std::string_view operand);
constexpr bool is_predicate_slot(Slot slot) { return slot >= kFirstPredicate; }
constexpr bool is_uniform_slot(Slot slot) {
  return slot >= kFirstUniformPredicate || (slot >= kUniform && slot < kStack);
}

struct Written {
  std::uint32_t first = kNone, count = 0;  // `first` is kNone if no register is written
  std::uint32_t second = kNone;            // first of 8 more registers; kNone if there are none
  std::uint32_t predicates = 0;            // one bit per predicate
  bool everything = false;

  bool has(Slot slot) const;
};

// Returns how many registers are written, starting with the first result; 0 if the first operand is not a result.
std::uint32_t width_of_result(const Instruction& i);
Written written_by(const Instruction& i);
// Returns the index of the first operand that is not a predicate.
std::size_t first_value(const Instruction& i);

}  // namespace cudadiag::sass
