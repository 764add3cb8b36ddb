// One line of nvdisasm's text, in pieces. Internal to the room.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

namespace cudadiag::sass {

struct Instruction {
  std::uint32_t address = 0;
  std::string_view predicate;  // "P0", "!P0", "UP1"; empty: always
  std::string_view opcode;     // "LDG.E.128"
  std::vector<std::string_view> operands;

  // "LDG"
  std::string_view base() const { return opcode.substr(0, opcode.find('.')); }
  bool has(std::string_view modifier) const;
};

// The base that does the same with ordinary registers: "IADD3" for "UIADD3".
std::string_view without_u(std::string_view base);
bool is_any(std::string_view text, std::initializer_list<std::string_view> words);
// "/*0050*/   @P0 LDG.E R7, desc[UR4][R2.64] ;"
std::optional<Instruction> parse_instruction(std::string_view line);
// "0x1f0"; nothing for anything else.
std::optional<std::uint32_t> parse_hex(std::string_view text);

// "c[0x0][0x210]", "c[0x0][R2+0x210]": a place in constant bank 0; the register may be kNone.
struct ConstantPlace {
  std::uint32_t index = 0, offset = 0;
};
std::optional<ConstantPlace> parse_constant(std::string_view operand);
// The text between the brackets that name a place in memory: the last pair in "desc[UR6][R2.64+0x10]"; empty for others.
std::string_view address_in(std::string_view operand);

// Registers are numbered: R0..R255, then UR0..UR255, then the first words of the stack, which are used like registers.
// kNone for RZ, URZ and whatever is not a register.
inline constexpr std::uint32_t kNone = ~0u;
inline constexpr std::uint32_t kUniform = 256, kStack = 512, kStackWords = 256, kRegisters = kStack + kStackWords;
// The register that an operand names: "-R11.reuse" is 11.
std::uint32_t register_of(std::string_view operand);
bool is_predicate(std::string_view operand);

}  // namespace cudadiag::sass
