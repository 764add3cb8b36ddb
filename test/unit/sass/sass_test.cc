// Tests how kernels access their parameters. The code is nvdisasm's output for the kernels in
// test/data/sass/kernels.cu.
#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "sass/kernel_accesses.h"

namespace cudadiag::sass {
namespace {

using enum Mode;  // in a namespace, because read() and write() are global functions

std::string text_of(const std::string& name) {
  std::ifstream file(TEST_DATA "/sass/" + name + ".txt");
  std::string text(std::istreambuf_iterator<char>(file), {});
  REQUIRE_FALSE(text.empty());
  return text;
}

using Modes = std::vector<Mode>;

// Returns the modes of the pointers at these parameter offsets, in order.
Modes modes(const std::string& name, const std::vector<std::uint32_t>& pointers, std::uint32_t bank = 0x210,
            ZeroWords zeros = 0) {
  const KernelAccesses kernel = read_sass(text_of(name), {bank, 0x800}, Calls::anything, zeros);
  REQUIRE(kernel.known);
  Modes out;
  for (const std::uint32_t pointer : pointers) out.push_back(kernel.mode(pointer));
  return out;
}

// Returns the modes of a kernel whose parameters are `pointers` pointers, the first at 0x210.
Modes modes_of(const std::string& text, std::uint32_t pointers = 2) {
  const KernelAccesses kernel = read_sass(text, {0x210, 8 * pointers});
  REQUIRE(kernel.known);
  Modes out;
  for (std::uint32_t i = 0; i < pointers; ++i) out.push_back(kernel.mode(8 * i));
  return out;
}

TEST_CASE("reads and writes are distinguished") { CHECK(modes("add.sm90", {0, 8, 16}) == Modes{read, read, write}); }

TEST_CASE("pointers inside a structure, on three architectures") {
  CHECK(modes("packed.sm90", {8, 16, 24}) == Modes{write, read, read});
  CHECK(modes("packed.sm80", {8, 16, 24}, 0x160) == Modes{write, read, read});
  CHECK(modes("packed.sm100", {8, 16, 24}, 0x380) == Modes{write, read, read});
}

TEST_CASE("addresses that are assembled with carries") { CHECK(modes("vec.sm90", {0, 8}) == Modes{write, read}); }

TEST_CASE("addresses that are moved, selected and compared as 64-bit values, on the latest architecture") {
  constexpr std::uint32_t kBank = 0x380;
  CHECK(modes("aligned.sm120", {0}, kBank) == Modes{write});
  CHECK(modes("exchange.sm120", {0, 8}, kBank) == Modes{atomic, atomic});
  CHECK(modes("walk.sm120", {0, 8}, kBank) == Modes{read, write});
  CHECK(modes("lesser.sm120", {0, 8}, kBank) == Modes{unknown, unknown});
  CHECK(modes("next.sm120", {0, 8}, kBank) == Modes{unknown, unknown});
  CHECK(modes("swapped.sm120", {0, 8, 16, 24}, kBank) == Modes{unknown, unknown, unknown, unknown});
}

TEST_CASE("both halves of a conditionally selected address") {
  CHECK(modes_of("/*0000*/ LDC.64 R2, c[0x0][0x210] ;\n"
                 "/*0010*/ LDC.64 R4, c[0x0][0x218] ;\n"
                 "/*0020*/ SEL.64 R6, R2, R4, !P0 ;\n"
                 "/*0030*/ STG.E desc[UR4][R6.64], R9 ;\n"
                 "/*0040*/ EXIT ;\n") == Modes{unknown, unknown});
}

TEST_CASE("atomic operations differ from writes") { CHECK(modes("hist.sm90", {0, 8}) == Modes{read, atomic}); }

TEST_CASE("a write through one of two pointers is certain for neither") {
  CHECK(modes("select2.sm90", {0, 8, 16}) == Modes{unknown, unknown, read});
}

TEST_CASE("a write through a selected pointer is certain if the other choices are the same address or none") {
  const KernelAccesses kernel = read_sass(text_of("select2.sm90"), {0x210, 0x800});
  CHECK(kernel.mode(0, {{0, 0}, {8, 8}, {16, 16}}) == unknown);
  CHECK(kernel.mode(0, {{0, 0}, {16, 16}}) == write);
  CHECK(kernel.mode(8, {{8, 8}, {16, 16}}) == write);
  CHECK(kernel.mode(8, {{0, 0}, {8, 0}, {16, 16}}) == write);
  CHECK(kernel.mode(16, {{0, 0}, {8, 0}, {16, 16}}) == read);
  // The input and the output have the same address.
  CHECK(kernel.mode(16, {{0, 0}, {8, 0}, {16, 0}}) == write);
}

TEST_CASE("arrays of pointers are distinguished by where they begin") {
  CHECK(modes("multi.sm90", {0, 8, 280, 288, 296}) == Modes{read, read, read, write, write});
}

TEST_CASE("a block's index uses every element of an array, another index only one") {
  CHECK(modes("each.sm90", {0, 8, 56, 64}) == Modes{write, write, write, read});
  CHECK(modes("each.sm120", {0, 8, 56, 64}, 0x380) == Modes{write, write, write, read});
  CHECK(modes("listed.sm90", {0, 8, 56, 64}) == Modes{unknown, unknown, unknown, read});
  CHECK(modes("picked.sm90", {0, 8, 56}) == Modes{unknown, unknown, unknown});
}

TEST_CASE("an index may mean a separately read word of its array, up to the next parameter") {
  KernelAccesses kernel = read_sass(text_of("picked.sm90"), {0x210, 0x44});
  CHECK(kernel.mode(24) == read);  // the end of the array is unknown
  kernel.parameters = {0, 64};
  CHECK(kernel.mode(24) == unknown);
  CHECK(kernel.mode(24, {{0, 0}, {24, 24}}) == unknown);
  kernel.parameters = {0, 24, 64};
  CHECK(kernel.mode(24) == read);
}

TEST_CASE("accesses in a separate function") { CHECK(modes("calls.sm90", {0, 8}) == Modes{write, read}); }

TEST_CASE("loops, and a call that ends the program") { CHECK(modes("loop.sm90", {0, 8}) == Modes{read, write}); }

TEST_CASE("every case of a jump through a table") { CHECK(modes("sw.sm90", {0, 8, 16}) == Modes{write, write, write}); }

TEST_CASE("a value does not become a pointer by going through local memory") {
  CHECK(modes("spill.sm90", {0, 8}) == Modes{read, read});
}

TEST_CASE("a pointer that was reloaded from local memory is still recognised") {
  // After the reload, the two halves of the pointer cannot be distinguished, so the store may write through it.
  CHECK(modes_of("/*0000*/ LDC.64 R2, c[0x0][0x210] ;\n"
                 "/*0010*/ STL.64 [R1], R2 ;\n"
                 "/*0020*/ LDL.64 R4, [R1] ;\n"
                 "/*0030*/ STG.E desc[UR4][R4.64], R9 ;\n"
                 "/*0040*/ EXIT ;\n",
                 1) == Modes{write});
}

TEST_CASE("one pointer is read under a condition, and another one under its opposite") {
  CHECK(modes_of("/*0000*/ LDC.64 R2, c[0x0][0x210] ;\n"
                 "/*0010*/ LDC.64 R4, c[0x0][0x218] ;\n"
                 "/*0020*/ @P0 MOV R6, R2 ;\n"
                 "/*0030*/ @P0 MOV R7, R3 ;\n"
                 "/*0040*/ @!P0 MOV R6, R4 ;\n"
                 "/*0050*/ @!P0 MOV R7, R5 ;\n"
                 "/*0060*/ @P0 LDG.E R8, desc[UR4][R6.64] ;\n"
                 "/*0070*/ @!P0 STG.E desc[UR4][R6.64], R9 ;\n"
                 "/*0080*/ EXIT ;\n") == Modes{read, write});
}

TEST_CASE("a condition that is computed again is a new condition") {
  CHECK(modes_of("/*0000*/ LDC.64 R2, c[0x0][0x210] ;\n"
                 "/*0010*/ LDC.64 R6, c[0x0][0x218] ;\n"
                 "/*0020*/ @P0 MOV R6, R2 ;\n"
                 "/*0030*/ @P0 MOV R7, R3 ;\n"
                 "/*0040*/ ISETP.GE.AND P0, PT, R9, R8, PT ;\n"
                 "/*0050*/ @P0 STG.E desc[UR4][R6.64], R9 ;\n"
                 "/*0060*/ EXIT ;\n") == Modes{unknown, unknown});
}

TEST_CASE("a condition stays valid where other paths meet, until it may have changed") {
  const std::string chosen =
      "/*0000*/ LDC.64 R2, c[0x0][0x210] ;\n"
      "/*0010*/ @!P0 LDC.64 R2, c[0x0][0x218] ;\n";
  const std::string stored =
      "/*0080*/ @!P0 STG.E desc[UR4][R2.64], R9 ;\n"
      "/*0090*/ EXIT ;\n"
      "/*00a0*/ RET.REL.NODEC R20 0x0 ;\n";
  const std::string nothing = "/*0020*/ @P3 BRA 0x40 ;\n/*0030*/ NOP ;\n/*0040*/ NOP ;\n";
  CHECK(modes_of(chosen + nothing + stored) == Modes{none, write});
  for (const char* decided : {"ISETP.NE.AND P0, PT, R5, RZ, PT", "IADD3 RZ, P0, R5, R6, RZ", "R2P PR, R5, 0x7f",
                              "PLOP3.LUT P1, P0, P3, P4, PT, 0x80, 0x0", "B2R.RESULT RZ, P0", "CALL.REL.NOINC 0xa0"}) {
    const std::string anew = "/*0020*/ @P3 BRA 0x40 ;\n/*0030*/ " + std::string(decided) + " ;\n/*0040*/ NOP ;\n";
    CHECK(modes_of(chosen + anew + stored) == Modes{unknown, unknown});
  }
}

TEST_CASE("after a branch, its condition is known") {
  CHECK(modes_of("/*0000*/ LDC.64 R2, c[0x0][0x210] ;\n"
                 "/*0010*/ @!P0 LDC.64 R2, c[0x0][0x218] ;\n"
                 "/*0020*/ @P0 BRA 0x50 ;\n"
                 "/*0030*/ STG.E desc[UR4][R2.64], R9 ;\n"
                 "/*0040*/ EXIT ;\n"
                 "/*0050*/ LDG.E R4, desc[UR4][R2.64] ;\n"
                 "/*0060*/ EXIT ;\n") == Modes{read, write});
}

TEST_CASE("a path on which a condition is false says nothing about registers set under that condition") {
  const std::string chosen =
      "/*0000*/ LDC.64 R10, c[0x0][0x210] ;\n"
      "/*0010*/ @P0 BRA 0x30 ;\n"
      "/*0020*/ LDC.64 R10, c[0x0][0x218] ;\n";
  const std::string stored =
      "/*0040*/ @!P0 STG.E desc[UR4][R10.64], R9 ;\n"
      "/*0050*/ EXIT ;\n";
  CHECK(modes_of(chosen + "/*0030*/ ISETP.NE.AND P1, PT, R5, RZ, PT ;\n" + stored) == Modes{none, write});
  CHECK(modes_of(chosen + "/*0030*/ ISETP.NE.AND P0, PT, R5, RZ, PT ;\n" + stored) == Modes{unknown, unknown});
}

TEST_CASE("an external function may do anything with its arguments, unless it is CUDA's own") {
  const char* text =
      "/*0000*/ LDC.64 R4, c[0x0][0x210] ;\n"
      "/*0010*/ LDC.64 R2, c[0x4][0x0] ;\n"
      "/*0020*/ CALL.ABS.NOINC R2 ;\n"
      "/*0030*/ EXIT ;\n";
  CHECK(read_sass(text, {0x210, 8}).mode(0) == unknown);
  CHECK(read_sass(text, {0x210, 8}, Calls::harmless).mode(0) == none);
}

TEST_CASE("a function called by address may write what a structure on the stack points to") {
  CHECK(modes("on_stack.sm90", {0, 8}) == Modes{unknown, unknown});
  CHECK(modes("on_stack.sm120", {0, 8}, 0x380) == Modes{unknown, unknown});
}

TEST_CASE("a pointer that such a function returns or stores is not the one that it received") {
  CHECK(modes("returned.sm90", {0}) == Modes{unknown});
  CHECK(modes_of("/*0000*/ LDC.64 R4, c[0x0][0x210] ;\n"
                 "/*0010*/ STL.64 [R1+0x8], R4 ;\n"
                 "/*0020*/ CALL.ABS.NOINC R2 ;\n"
                 "/*0030*/ LDL.64 R6, [R1+0x8] ;\n"
                 "/*0040*/ STG.E desc[UR4][R6.64], R9 ;\n"
                 "/*0050*/ EXIT ;\n",
                 1) == Modes{unknown});
}

TEST_CASE("an unknown instruction may do anything with the memory that it describes") {
  CHECK(modes_of("/*0000*/ LDC.64 R2, c[0x0][0x210] ;\n"
                 "/*0010*/ LDC.64 R4, c[0x0][0x218] ;\n"
                 "/*0020*/ LDC.64 R6, c[0x0][0x220] ;\n"
                 "/*0030*/ STNEW.E.64 desc[UR4][R2.64+0x10], R8 ;\n"
                 "/*0040*/ LDNEW.E.64 R4, desc[UR4][R4.64] ;\n"
                 "/*0050*/ STG.E desc[UR4][R4.64], R9 ;\n"
                 "/*0060*/ CCTL.E.PF2 [R6] ;\n"
                 "/*0070*/ EXIT ;\n",
                 3) == Modes{unknown, unknown, none});
}

TEST_CASE("an offset is not an address") {
  const std::string used = "/*0040*/ LDG.E R8, desc[UR4][R4.64] ;\n/*0050*/ EXIT ;\n";
  const std::string base = "/*0000*/ LDC.64 R2, c[0x0][0x210] ;\n/*0010*/ LDC.64 R6, c[0x0][0x218] ;\n";
  for (const char* moved : {"/*0020*/ IMAD.WIDE R4, R6, R7, R2 ;\n", "/*0020*/ IMAD.WIDE.U32 R4, R6, 0x4, R2 ;\n",
                            "/*0020*/ LEA R4, P0, R6, R2, 0x2 ;\n/*0030*/ LEA.HI.X R5, R6, R3, R7, 0x2, P0 ;\n"}) {
    CHECK(modes_of(base + moved + used) == Modes{near_read, none});
  }
  for (const char* moved : {"/*0020*/ IMAD.IADD R4, R2, 0x1, R9 ;\n/*0030*/ IMAD.MOV.U32 R5, RZ, RZ, R3 ;\n",
                            "/*0020*/ IADD3 R4, P0, R9, R2, RZ ;\n/*0030*/ IMAD.X R5, R3, 0x1, R10, P0 ;\n"}) {
    CHECK(modes_of(base + moved + used) == Modes{read, none});
  }
}

TEST_CASE("code that adds a parameter to an address uses a place near that address") {
  CHECK(modes("part.sm80", {0}, 0x160) == Modes{near_write});
  CHECK(modes("part.sm90", {0}) == Modes{near_write});
  CHECK(modes("part.sm120", {0}, 0x380) == Modes{near_write});
  CHECK(modes("product.sm80", {0}, 0x160) == Modes{near_write});
  CHECK(modes("bytes_on.sm90", {0, 16}) == Modes{near_write, read});
  // The pointer advances in steps given by one parameter, up to a limit given by another.
  CHECK(modes("stride.sm90", {0, 8}) == Modes{write, read});
  CHECK(modes("strided_loop.sm90", {0}) == Modes{write});
  CHECK(modes("clamped.sm90", {0}) == Modes{write});
}

TEST_CASE("a parameter that is 0 in a launch moves no address") {
  const ZeroWords third = 1u << 2, fourth = 1u << 3;
  CHECK(modes("part.sm80", {0}, 0x160, third) == Modes{write});
  CHECK(modes("part.sm90", {0}, 0x210, third) == Modes{write});
  CHECK(modes("part.sm120", {0}, 0x380, third) == Modes{write});
  CHECK(modes("part.sm90", {0}, 0x210, fourth) == Modes{near_write});
  CHECK(modes("product.sm80", {0}, 0x160, third) == Modes{write});
  CHECK(modes("product.sm80", {0}, 0x160, fourth) == Modes{write});
  CHECK(modes("bytes_on.sm90", {0, 16}, 0x210, third | fourth) == Modes{write, read});
  CHECK(modes("bytes_on.sm90", {0, 16}, 0x210, fourth) == Modes{near_write, read});
  CHECK(modes("reversed.sm80", {0}, 0x160, third | fourth) == Modes{near_write});
}

TEST_CASE("a place before an address is near it, unless a thread's index leads back") {
  CHECK(modes("reversed.sm80", {0}, 0x160) == Modes{near_write});
  CHECK(modes("reversed.sm120", {0}, 0x380) == Modes{near_write});
  CHECK(modes("backwards.sm90", {0, 8}) == Modes{near_write, none});
  CHECK(modes("backwards.sm120", {0, 8}, 0x380) == Modes{near_write, none});
  const std::string base = "/*0000*/ LDC.64 R2, c[0x0][0x210] ;\n/*0010*/ S2R R6, SR_TID.X ;\n";
  const std::string before = "/*0030*/ STG.E desc[UR4][R2.64+-0x4], R9 ;\n/*0040*/ EXIT ;\n";
  CHECK(modes_of(base + before, 1) == Modes{near_write});
  CHECK(modes_of(base + "/*0020*/ IMAD.WIDE R2, R6, 0x4, R2 ;\n" + before, 1) == Modes{write});
  CHECK(modes_of(base + "/*0020*/ IMAD.WIDE R2, R6, -0x4, R2 ;\n" + before, 1) == Modes{near_write});
  CHECK(modes_of(base + "/*0020*/ IADD.64 R2, R2, 0x8 ;\n" + before, 1) == Modes{write});
}

TEST_CASE("a place that is near an address on only one path is at it on the other") {
  const std::string base =
      "/*0000*/ LDC.64 R2, c[0x0][0x210] ;\n"
      "/*0010*/ LDC R6, c[0x0][0x218] ;\n";
  const std::string stored =
      "/*0030*/ IMAD.WIDE R2, R6, 0x4, R2 ;\n"
      "/*0040*/ STG.E desc[UR4][R2.64], R9 ;\n"
      "/*0050*/ EXIT ;\n";
  CHECK(modes_of(base + stored) == Modes{near_write, none});
  CHECK(modes_of(base + "/*0020*/ @P0 MOV R6, RZ ;\n" + stored) == Modes{write, none});
  CHECK(modes_of(base + "/*0020*/ S2R R6, SR_TID.X ;\n" + stored) == Modes{write, none});
}

TEST_CASE("an address that a register has on only one path is not certainly written") {
  CHECK(modes_of("/*0000*/ LDC.64 R2, c[0x0][0x210] ;\n"
                 "/*0010*/ @P0 BRA 0x30 ;\n"
                 "/*0020*/ LDC.64 R2, c[0x0][0x218] ;\n"
                 "/*0030*/ STG.E desc[UR4][R2.64], R9 ;\n"
                 "/*0040*/ EXIT ;\n") == Modes{unknown, unknown});
}

TEST_CASE("a path that is visited first does not decide for both") {
  CHECK(modes_of("/*0000*/ BRA 0x30 ;\n"
                 "/*0010*/ STG.E desc[UR4][R2.64], R9 ;\n"
                 "/*0020*/ EXIT ;\n"
                 "/*0030*/ LDC.64 R2, c[0x0][0x210] ;\n"
                 "/*0040*/ @P0 BRA 0x10 ;\n"
                 "/*0050*/ LDC.64 R2, c[0x0][0x218] ;\n"
                 "/*0060*/ BRA 0x10 ;\n") == Modes{unknown, unknown});
}

TEST_CASE("a function preserves what it does not change, whichever code calls it") {
  CHECK(modes_of("/*0000*/ LDC.64 R2, c[0x0][0x210] ;\n"
                 "/*0010*/ CALL.REL.NOINC 0x80 ;\n"
                 "/*0020*/ LDG.E R8, desc[UR4][R2.64] ;\n"
                 "/*0030*/ LDC.64 R2, c[0x0][0x218] ;\n"
                 "/*0040*/ CALL.REL.NOINC 0x80 ;\n"
                 "/*0050*/ STG.E desc[UR4][R2.64], R9 ;\n"
                 "/*0060*/ STG.E desc[UR4][R20.64], R9 ;\n"
                 "/*0070*/ EXIT ;\n"
                 "/*0080*/ LDC.64 R20, c[0x0][0x220] ;\n"
                 "/*0090*/ RET.REL.NODEC R6 0x0 ;\n",
                 3) == Modes{read, write, write});
}

TEST_CASE("threads meet at the end of their barrier even if its register is used again") {
  CHECK(modes_of("/*0000*/ LDC.64 R2, c[0x0][0x210] ;\n"
                 "/*0010*/ BSSY B0, 0x40 ;\n"
                 "/*0020*/ LDG.E R8, desc[UR4][R2.64] ;\n"
                 "/*0030*/ BSYNC B0 ;\n"
                 "/*0040*/ LDC.64 R2, c[0x0][0x218] ;\n"
                 "/*0050*/ BSSY B0, 0x80 ;\n"
                 "/*0060*/ @P0 BREAK B0 ;\n"
                 "/*0070*/ BSYNC B0 ;\n"
                 "/*0080*/ STG.E desc[UR4][R2.64], R9 ;\n"
                 "/*0090*/ EXIT ;\n") == Modes{read, write});
}

TEST_CASE("words of the stack are distinguished until code writes somewhere in it") {
  const std::string spilled =
      "/*0000*/ LDC R1, c[0x0][0x28] ;\n"
      "/*0010*/ IADD3 R1, R1, -0x20, RZ ;\n"
      "/*0020*/ LDC.64 R2, c[0x0][0x210] ;\n"
      "/*0030*/ LDC.64 R4, c[0x0][0x218] ;\n"
      "/*0040*/ STL.64 [R1+0x8], R2 ;\n"
      "/*0050*/ STL.64 [R1+0x10], R4 ;\n";
  const std::string used =
      "/*0080*/ LDL.64 R6, [R1+0x8] ;\n"
      "/*0090*/ LDL.64 R8, [R1+0x10] ;\n"
      "/*00a0*/ LDG.E R10, desc[UR4][R6.64] ;\n"
      "/*00b0*/ STG.E desc[UR4][R8.64], R10 ;\n"
      "/*00c0*/ EXIT ;\n";
  CHECK(modes_of(spilled + used) == Modes{read, write});
  CHECK(modes_of(spilled + "/*0060*/ STL.64 [R11], R2 ;\n" + used) == Modes{unknown, unknown});
  CHECK(modes_of(spilled + "/*0060*/ ST.E.64 [R12.64], R2 ;\n" + used) == Modes{unknown, unknown});
  CHECK(modes_of(spilled + "/*0060*/ STL.64 [R1+0x10], R2 ;\n" + used) == Modes{write, none});
  // The stack pointer changes between the stores and the loads.
  CHECK(modes_of(spilled + "/*0060*/ IADD3 R1, R1, 0x8, RZ ;\n" + used) == Modes{unknown, unknown});
}

TEST_CASE("a register that is set again conditionally may still have its old value") {
  CHECK(modes_of("/*0000*/ LDC.64 R2, c[0x0][0x210] ;\n"
                 "/*0010*/ @P0 LDC.64 R2, c[0x0][0x218] ;\n"
                 "/*0020*/ STG.E desc[UR4][R2.64], R9 ;\n"
                 "/*0030*/ EXIT ;\n") == Modes{unknown, unknown});
}

TEST_CASE("text that is not code, or damaged code, is unknown or harmless") {
  CHECK_FALSE(read_sass("", {0x210, 8}).known);
  CHECK_FALSE(read_sass("nvdisasm fatal: no such file", {0x210, 8}).known);
  const std::string text = text_of("loop.sm90");
  for (std::size_t cut = 0; cut < text.size(); cut += 7) read_sass(text.substr(cut), {0x210, 0x20});
  for (std::size_t at = 0; at < text.size(); at += 3) {
    std::string damaged = text;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x15);
    read_sass(damaged, {0x210, 0x20});
  }
}

}  // namespace
}  // namespace cudadiag::sass
