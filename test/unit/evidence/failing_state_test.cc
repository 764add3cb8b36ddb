// Tests the state of failed threads in hand-built dumps.
#include <doctest/doctest.h>

#include "evidence/core_facts.h"
#include "unit/evidence/sample_dump.h"

using namespace cudadiag::evidence;

namespace {

using S = SampleSections;
constexpr std::uint32_t kKind = 0x80000000;

DumpedFailure failure_of(const ElfBuilder& dump) {
  const std::string file = dump.bytes();
  auto facts = examine(Bytes(file.data(), file.size()));
  REQUIRE(facts);
  REQUIRE(facts->failure);
  return std::move(*facts->failure);
}

// Builds the sample dump, whose second lane failed. Adds sections about that lane, as drivers since r400 write them.
ElfBuilder full_sample() {
  ElfBuilder dump = sample_dump();
  dump.add({.name = ".cudbg.pred",
            .type = kKind + 17,
            .data = RowBuilder(16).u32(4, 1).u32(12, 7),
            .entry_size = 4,
            .link = S::lanes,
            .info = 1});
  dump.add({.name = ".cudbg.uregs",
            .type = kKind + 19,
            .data = RowBuilder(8).u32(4, 0x44),
            .entry_size = 4,
            .link = S::warps});
  dump.add(
      {.name = ".cudbg.upred", .type = kKind + 20, .data = RowBuilder(8).u32(0, 1), .entry_size = 4, .link = S::warps});
  dump.add({.name = ".cudbg.param", .type = kKind + 18, .data = "12345678", .link = S::grids});
  return dump;
}

}  // namespace

TEST_CASE("registers, predicates and parameters of a failed thread") {
  const DumpedFailure f = failure_of(full_sample());
  REQUIRE(f.state);
  CHECK(f.state->parameters == "12345678");
  REQUIRE(f.state->warps.size() == 1);
  const FailingWarp& warp = f.state->warps[0];
  CHECK(warp.block == Dim3{1, 0, 0});
  CHECK(warp.together);
  CHECK(warp.uniform_registers == std::vector<std::uint32_t>{0, 0x44});
  CHECK(warp.uniform_predicates == 1);
  REQUIRE(warp.lanes.size() == 1);
  CHECK(warp.lanes[0].lane == 1);
  CHECK(warp.lanes[0].stands == 0xa0);  // an offset in the kernel, not in the function that the kernel calls
  CHECK(warp.lanes[0].registers == std::vector<std::uint32_t>{0x11, 0x22});
  CHECK(warp.lanes[0].predicates == 0b1010);
}

TEST_CASE("the sections of a thread are found in any order") {
  CHECK(failure_of(full_sample().reversed()).state->warps.at(0).lanes.at(0).predicates == 0b1010);
}

TEST_CASE("state that a driver does not save is unknown") {
  const DumpedFailure f = failure_of(sample_dump());
  REQUIRE(f.state);
  CHECK(f.state->parameters.empty());
  CHECK_FALSE(f.state->warps.at(0).uniform_predicates);
  CHECK_FALSE(f.state->warps.at(0).lanes.at(0).predicates);
}

TEST_CASE("a warp with inactive threads is not at one instruction") {
  ElfBuilder dump = full_sample();
  dump.part(S::warps).data = RowBuilder(64).u64(0, kErrorPc).u32(8, 3).u32(12, 3).u32(16, 2).u32(24, 1);
  CHECK_FALSE(failure_of(dump).state->warps.at(0).together);
}

TEST_CASE("the complete facts of a kernel are read") {
  const std::string bank = RowBuilder(12).u8(0, 4).u8(1, 0x0a).u16(2, 8).u16(8, 0x210).u16(10, 12);
  const std::string second = RowBuilder(16).u8(0, 4).u8(1, 0x17).u16(2, 12).u16(8, 1).u16(10, 8).u32(12, 4u << 18);
  const std::string first = RowBuilder(16).u8(0, 4).u8(1, 0x17).u16(2, 12).u32(12, 8u << 18);
  const std::string all = bank + second + first;
  const KernelFacts facts = read_kernel_facts(Bytes(all.data(), all.size()));
  CHECK(facts.offset == 0x210);
  CHECK(facts.bytes == 12);
  REQUIRE(facts.parameters.size() == 2);
  CHECK(facts.at(7)->index == 0);
  CHECK(facts.at(8)->index == 1);
  CHECK(facts.at(12) == nullptr);
  CHECK(read_kernel_facts(Bytes(all.data(), all.size() - 4)).parameters.size() == 1);
  CHECK(read_kernel_facts(Bytes(all.data(), 11)).bytes == 0);
}
