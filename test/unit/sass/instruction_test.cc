#include "sass/instruction.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "sass/control_flow.h"

namespace cudadiag::sass {
namespace {

Instruction instruction(const char* text) {
  const auto out = parse_instruction(std::string("/*0010*/ ") + text + " ;");
  REQUIRE(out);
  return *out;
}

using Width = AddressTerm::Width;

}  // namespace

TEST_CASE("an address is split into its terms") {
  const auto widths = [](const Instruction& i) {
    std::vector<std::pair<Slot, Width>> out;
    for (const AddressTerm& term : i.place) out.emplace_back(term.value.slot, term.width);
    return out;
  };
  using Widths = std::vector<std::pair<Slot, Width>>;
  const Instruction load = instruction("LDG.E R0, desc[UR6][R2.64+UR4+0x10]");
  CHECK(widths(load) == Widths{{2, Width::pair}, {kUniform + 4, Width::unsure}, {kNone, Width::pair}});
  CHECK(load.place[2].value.is(0x10));
  CHECK(instruction("STS [R2+-0x10], R3").place[1].value.is(0xfffffff0));
  CHECK(widths(instruction("LDG.E R0, [R2]")) == Widths{{2, Width::pair}});
  CHECK(widths(instruction("LDS R0, [R2]")) == Widths{{2, Width::half}});
  CHECK(instruction("LDS R0, [R2.X4+UR4]").place[0].factor == 4);
  CHECK_FALSE(instruction("LDG.E R0, [R2.X4]").readable);
  CHECK(instruction("NOP").place.empty());
}

TEST_CASE("an opcode that is not in the table is unknown, and may write registers after its first operand") {
  const Instruction i = instruction("NEWOP.64 R4, R2, R3");
  CHECK_FALSE(is_known(*i.code));
  CHECK(i.written.has(4));
  CHECK(i.written.has(11));
  CHECK_FALSE(i.written.has(2));
  CHECK(is_known(*instruction("UIADD3 UR4, UPT, UPT, UR5, 0x1, URZ").code));
}

TEST_CASE("of an instruction that changes when the code is loaded, result, address and target are unknown") {
  const Instruction moved = instruction("MOV.RELOCATED R2, 0x0");
  CHECK(moved.op == Op::other);
  CHECK(moved.written.has(2));
  CHECK(instruction("LDG.E R0, desc[UR6][R2.64]").readable);
  CHECK_FALSE(instruction("LDG.E.RELOCATED R0, desc[UR6][R2.64]").readable);
  CHECK(Program("/*0000*/ CALL.ABS.NOINC 0x0 ;")[0].target == 0);
  CHECK(Program("/*0000*/ CALL.ABS.NOINC.RELOCATED 0x0 ;")[0].target == kNone);
}

}  // namespace cudadiag::sass
