// Tests copies between global and shared memory by the tensor memory accelerator (TMA), as nvdisasm prints them.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "sass/kernel_accesses.h"

namespace cudadiag::sass {
namespace {

using enum Mode;  // in a namespace, because read() and write() are global functions

// The parameters are descriptors of 128 bytes at 0x240 and 0x2c0 and a pointer at 0x340. Padding aligns the first
// descriptor.
constexpr ParameterBank kHopper{0x210, 0x138};
constexpr std::uint32_t kFirst = 0x30, kSecond = 0xb0, kPointer = 0x130;

KernelAccesses read_lines(const std::string& lines, ParameterBank bank = kHopper) {
  const KernelAccesses kernel = read_sass(lines, bank);
  REQUIRE(kernel.known);
  return kernel;
}

using Modes = std::vector<Mode>;

// Returns the modes of the first descriptor, of the second descriptor, and of the pointer.
Modes modes_of(const std::string& lines) {
  const KernelAccesses kernel = read_lines(lines);
  return {kernel.mode(kFirst), kernel.mode(kSecond), kernel.mode(kPointer)};
}

// Loads the address of the first descriptor into UR6, and that of the second into UR4.
const std::string kAddresses =
    "/*0010*/ ULDC.64 UR12, c[0x0][0x198] ;\n"
    "/*0020*/ UIADD3 UR6, UP0, UR12, 0x30, URZ ;\n"
    "/*0030*/ UIADD3.X UR7, URZ, UR13, URZ, UP0, !UPT ;\n"
    "/*0040*/ UIADD3 UR4, UP0, UR12, 0xb0, URZ ;\n"
    "/*0050*/ UIADD3.X UR5, URZ, UR13, URZ, UP0, !UPT ;\n";

TEST_CASE("a descriptor in the parameters stands for the memory at the address in its first word") {
  CHECK(modes_of(kAddresses + "/*0060*/ UTMACCTL.PF [UR6] ;\n"
                              "/*0070*/ UTMALDG.2D [UR8], [UR6] ;\n"
                              "/*0080*/ UTMASTG.2D [UR12], [UR4] ;\n"
                              "/*0090*/ UTMACMDFLUSH ;\n"
                              "/*00a0*/ EXIT ;\n") == Modes{read, write, none});
}

TEST_CASE("descriptors on the next architecture") {
  const KernelAccesses kernel = read_lines(
      "/*0010*/ LDCU.64 UR6, c[0x0][0x348] ;\n"
      "/*0020*/ UTMALDG.4D.MULTICAST [UR8], [UR6], UR9, desc[UR10] ;\n"
      "/*0030*/ UIADD3.64 UR4, UPT, UPT, UR6, 0x80, URZ ;\n"
      "/*0040*/ UTMASTG.2D [UR12], [UR4] ;\n"
      "/*0050*/ EXIT ;\n",
      {0x380, 0x108});
  CHECK(kernel.mode(0) == read);
  CHECK(kernel.mode(0x80) == write);
}

TEST_CASE("through the address of the whole constant bank, and from one descriptor to another") {
  const KernelAccesses kernel = read_lines(
      "/*0010*/ ULDC.64 UR34, c[0x0][0xc0] ;\n"
      "/*0020*/ UIADD3.64 UR34, UR34, 0x240, URZ ;\n"
      "/*0030*/ UTMALDG.3D [UR8], [UR34] ;\n"
      "/*0040*/ UIADD3.64 UR34, UR34, 0x40, URZ ;\n"
      "/*0050*/ UTMALDG.3D.MULTICAST [UR16], [UR34], UR38 ;\n"
      "/*0060*/ UIADD3.64 UR34, UR34, -0x40, URZ ;\n"
      "/*0070*/ @P1 BRA 0x30 ;\n"
      "/*0080*/ ULDC.64 UR22, c[0x0][0xc0] ;\n"
      "/*0090*/ UIADD3.64 UR22, UR22, 0x2c0, URZ ;\n"
      "/*00a0*/ UTMASTG.3D [UR32], [UR22] ;\n"
      "/*00b0*/ EXIT ;\n");
  CHECK(kernel.mode(kFirst) == read);
  CHECK(kernel.mode(kFirst + 0x40) == read);
  CHECK(kernel.mode(kSecond) == write);
  CHECK(kernel.mode(kPointer) == none);
}

TEST_CASE("tensors that are added to, and ones that are only prefetched into the cache") {
  CHECK(modes_of(kAddresses + "/*0060*/ UTMAREDG.2D.ADD [UR12], [UR4] ;\n"
                              "/*0070*/ UTMAPF.L2.2D [UR12], [UR6] ;\n"
                              "/*0080*/ EXIT ;\n") == Modes{none, atomic, none});
}

TEST_CASE("bulk copies by plain addresses") {
  const std::string pointer = "/*0060*/ ULDC.64 UR4, c[0x0][0x340] ;\n";
  const auto mode = [&](const std::string& line) {
    return read_lines(pointer + "/*0070*/ " + line + " ;\n/*0080*/ EXIT ;\n").mode(kPointer);
  };
  CHECK(mode("UBLKCP.S.G [UR8], [UR4], UR10") == read);
  CHECK(mode("UBLKCP.G.S [UR4], [UR8], UR6") == write);
  CHECK(mode("UBLKRED.G.S.ADD [UR4], [UR8], UR6") == atomic);
  CHECK(mode("UBLKPF.L2 [UR4], UR6") == none);
  CHECK(mode("UBLKCP.T.G [UR8], [UR4], UR6") == unknown);
}

TEST_CASE("one of two descriptors, chosen by the program") {
  CHECK(modes_of("/*0000*/ UMOV UR14, 0x30 ;\n"
                 "/*0010*/ USEL UR14, UR14, 0xb0, UP1 ;\n"
                 "/*0020*/ UMOV UR15, URZ ;\n"
                 "/*0030*/ ULDC.64 UR12, c[0x0][0x198] ;\n"
                 "/*0040*/ UIADD3.64 UR4, UR12, UR14, URZ ;\n"
                 "/*0050*/ UTMASTG.2D [UR8], [UR4] ;\n"
                 "/*0060*/ EXIT ;\n") == Modes{unknown, unknown, none});
}

TEST_CASE("an address that reaches the unit through ordinary registers") {
  CHECK(modes_of("/*0000*/ LDC.64 R2, c[0x0][0x198] ;\n"
                 "/*0010*/ VIADD R4, R2, 0xb0 ;\n"
                 "/*0020*/ IMAD.MOV.U32 R5, RZ, RZ, R3 ;\n"
                 "/*0030*/ R2UR UR4, R4 ;\n"
                 "/*0040*/ R2UR UR5, R5 ;\n"
                 "/*0050*/ UTMASTG.2D [UR8], [UR4] ;\n"
                 "/*0060*/ EXIT ;\n") == Modes{none, write, none});
}

TEST_CASE("an unknown distance may mean any descriptor, but one into an array means the array's start") {
  const std::string text =
      "/*0000*/ LDC.64 R2, c[0x0][0x198] ;\n"
      "/*0010*/ IMAD.WIDE.U32 R2, R9, 0x80, R2 ;\n"
      "/*0020*/ R2UR UR4, R2 ;\n"
      "/*0030*/ R2UR UR5, R3 ;\n";
  const std::string stored = "/*0050*/ UTMASTG.2D [UR8], [UR4] ;\n/*0060*/ EXIT ;\n";
  CHECK(modes_of(text + stored) == Modes{unknown, unknown, unknown});
  const std::string array = "/*0040*/ UIADD3 UR4, UP0, UR4, 0x30, URZ ;\n";
  CHECK(modes_of(text + array + stored) == Modes{write, write, write});
}

TEST_CASE("a loop over descriptors terminates") {
  CHECK(modes_of("/*0000*/ ULDC.64 UR4, c[0x0][0x198] ;\n"
                 "/*0010*/ UIADD3 UR4, UP0, UR4, 0x80, URZ ;\n"
                 "/*0020*/ UTMASTG.2D [UR8], [UR4] ;\n"
                 "/*0030*/ @P0 BRA 0x10 ;\n"
                 "/*0040*/ EXIT ;\n") == Modes{unknown, unknown, unknown});
}

TEST_CASE("a descriptor in memory is read, but what it points to is not seen") {
  CHECK(modes_of("/*0000*/ ULDC.64 UR4, c[0x0][0x340] ;\n"
                 "/*0010*/ UTMASTG.2D [UR8], [UR4] ;\n"
                 "/*0020*/ EXIT ;\n") == Modes{none, none, read});
}

TEST_CASE("a descriptor built in shared memory may point to whatever was stored there") {
  CHECK(modes_of("/*0000*/ LDC.64 R2, c[0x0][0x240] ;\n"
                 "/*0010*/ STS.64 [R9], R2 ;\n"
                 "/*0020*/ UTMASTG.2D [UR8], [UR4] ;\n"
                 "/*0030*/ EXIT ;\n") == Modes{unknown, none, none});
}

TEST_CASE("words that are read by their address are the words themselves") {
  CHECK(modes_of("/*0000*/ LDC.64 R2, c[0x0][0x198] ;\n"
                 "/*0010*/ IADD3 R2, P0, R2, 0x130, RZ ;\n"
                 "/*0020*/ IMAD.X R3, RZ, RZ, R3, P0 ;\n"
                 "/*0030*/ LD.E.64 R4, [R2.64] ;\n"
                 "/*0040*/ ST.E [R4.64], R9 ;\n"
                 "/*0050*/ EXIT ;\n") == Modes{none, none, write});
}

}  // namespace
}  // namespace cudadiag::sass
