#include <doctest/doctest.h>

#include "evidence/core_facts.h"
#include "unit/evidence/sample_dump.h"

using namespace cudadiag::evidence;

namespace {

using S = SampleSections;

std::vector<RunningKernel> running(const std::string& file) {
  auto dump = Dump::read(Bytes(file.data(), file.size()));
  REQUIRE(dump);
  return running_kernels(*dump, DeviceCode(dump->code, dump->budget()));
}

// Builds the sample dump with `count` running grids and a large line table. Each grid has one block of two threads.
ElfBuilder many_grids(std::uint32_t count) {
  ElfBuilder dump = sample_dump();
  dump.part(S::code).data = sample_cubin(1000);
  const auto repeated = [&dump, count](std::uint32_t section, std::size_t grid_id) {
    Part& part = dump.part(section);
    const std::string row = part.data;
    part.data.clear();
    for (std::uint32_t i = 0; i < count; ++i) {
      part.data += row;
      part.data[part.data.size() - row.size() + grid_id] = static_cast<char>(i);
    }
  };
  repeated(S::grids, 0);
  repeated(S::ctas, 0);
  for (std::uint32_t i = 1; i < count; ++i) {
    Part warps = dump.part(S::warps), lanes = dump.part(S::lanes);
    warps.info = i;
    lanes.link = dump.add(warps);
    dump.add(lanes);
  }
  return dump;
}

}  // namespace

TEST_CASE("a running kernel is listed with the positions of its threads") {
  const auto kernels = running(sample_dump().bytes());
  REQUIRE(kernels.size() == 1);
  const RunningKernel& kernel = kernels[0];
  CHECK(kernel.kernel == "_Z6kernelPi");
  CHECK(kernel.grid == Dim3{2, 1, 1});
  CHECK(kernel.grid_id == 7);
  CHECK(kernel.threads == 2);
  CHECK(kernel.blocks == 1);
  REQUIRE(!kernel.places.empty());
  CHECK(kernel.places[0].block == Dim3{1, 0, 0});
  CHECK(kernel.places[0].thread == Dim3{0, 0, 0});
  CHECK(!kernel.places[0].place.function.empty());
}

TEST_CASE("each of many running kernels has its lines") {
  const std::string file = many_grids(20).bytes();
  auto dump = Dump::read(Bytes(file.data(), file.size()));
  REQUIRE(dump);
  const auto kernels = running_kernels(*dump, DeviceCode(dump->code, dump->budget()));
  CHECK(kernels.size() == 20);
  for (const RunningKernel& kernel : kernels) {
    REQUIRE(!kernel.places.empty());
    CHECK(!kernel.places[0].place.lines.empty());
  }
  CHECK(dump->budget().damaged() == 0);
}

// Searching all functions for each thread would make this test take minutes.
TEST_CASE("very many threads in very many functions") {
  constexpr std::uint32_t kFunctions = 400'000, kThreads = 400'000, kInstruction = 16;
  ElfBuilder cubin(2);
  cubin.add({.name = ".text.kernel", .type = 1, .data = std::string(kInstruction, '\0')});
  Part symbols{.name = ".symtab", .type = 2, .entry_size = 24, .link = 3};
  for (std::uint32_t i = 0; i < kFunctions; ++i) {
    symbols.data +=
        RowBuilder(24).u8(4, 0x12).u16(6, 1).u64(8, kKernelAddress + i * kInstruction).u64(16, kInstruction);
  }
  cubin.add(symbols);
  cubin.add({.name = ".strtab", .type = 3, .data = std::string(1, '\0')});
  ElfBuilder dump = sample_dump();
  dump.part(S::code).data = cubin.bytes();
  Part& lanes = dump.part(S::lanes);
  lanes.data.clear();
  for (std::uint32_t i = 0; i < kThreads; ++i) {
    lanes.data +=
        RowBuilder(lanes.entry_size).u64(0, kKernelAddress + (kFunctions - 1 - i) * kInstruction).u32(16, i % 2);
  }
  const auto kernels = running(dump.bytes());
  REQUIRE(kernels.size() == 1);
  CHECK(kernels[0].threads == kThreads);
  REQUIRE(!kernels[0].places.empty());
  CHECK(kernels[0].places[0].place.pc == kKernelAddress);
}

// The dump was requested from an H200 through the driver's pipe. NVIDIA's debugger shows kernel spin, grid 4, with
// (1,1,1) blocks of (64,1,1) threads. One warp is at spin.cuh:8 with PC ...a60, and the other is 16 bytes earlier.
TEST_CASE("a kernel that waits for time to pass") {
  const auto read = read_core(TEST_DATA "/gpucore/running.nvcudmp.gz");
  REQUIRE(std::holds_alternative<CoreFacts>(read));
  const auto& facts = std::get<CoreFacts>(read);
  CHECK(!facts.failure);
  CHECK(facts.damaged == 0);
  REQUIRE(facts.running.size() == 1);
  const RunningKernel& kernel = facts.running[0];
  CHECK(kernel.kernel == "_Z4spinPiy");
  CHECK(kernel.grid_id == 4);
  CHECK(kernel.grid == Dim3{1, 1, 1});
  CHECK(kernel.block_dim == Dim3{64, 1, 1});
  CHECK(kernel.threads == 64);
  REQUIRE(kernel.places.size() == 2);
  for (const RunningPlace& place : kernel.places) {
    CHECK(place.threads == 32);
    REQUIRE(!place.place.lines.empty());
    CHECK(place.place.lines[0].file == "/tmp/cases/test/gpu/cuda/spin.cuh");
    CHECK(place.place.lines[0].line == 8);
  }
  CHECK(kernel.places[1].place.pc - kernel.places[0].place.pc == 0x10);
  CHECK(kernel.places[1].place.pc % 0x1000 == 0xa60);
  CHECK(kernel.places[1].thread == Dim3{32, 0, 0});
}

// The dump of test/gpu/silent/hangs/barrier_of_some_warps.cu, requested from an H200: three warps wait at a barrier for
// the fourth one. NVIDIA's debugger gives the line after the barrier for them.
TEST_CASE("threads that wait at a barrier are at its line") {
  const auto read = read_core(TEST_DATA "/gpucore/barrier.nvcudmp.gz");
  REQUIRE(std::holds_alternative<CoreFacts>(read));
  const auto& facts = std::get<CoreFacts>(read);
  REQUIRE(facts.running.size() == 1);
  REQUIRE(!facts.running[0].places.empty());
  const RunningPlace& most = facts.running[0].places[0];
  CHECK(most.threads == 96);
  CHECK(most.thread == Dim3{0, 0, 0});
  REQUIRE(!most.place.lines.empty());
  CHECK(most.place.lines[0].line == 8);
}

TEST_CASE("a stream that waits for a value has no kernel running") {
  const auto read = read_core(TEST_DATA "/gpucore/idle.nvcudmp.gz");
  REQUIRE(std::holds_alternative<CoreFacts>(read));
  CHECK(!std::get<CoreFacts>(read).failure);
  CHECK(std::get<CoreFacts>(read).running.empty());
}
