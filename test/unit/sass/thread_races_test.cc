// Tests which launches have races between their own threads. nvcc compiled the kernels of test/data/sass/thread_races
// for sm_90; they are those of programs in test/gpu/silent.
#include <doctest/doctest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "sass/byte_ranges.h"

namespace thread_races_test {

using namespace cudadiag::sass;

namespace {

using Sizes = std::array<std::uint32_t, 3>;

ByteRanges code_of(const std::string& kernel) {
  std::ifstream file(TEST_DATA "/sass/thread_races.sm90.txt");
  const std::string all(std::istreambuf_iterator<char>(file), {}), mark = "// " + kernel + "\n";
  const std::size_t begin = all.find(mark);
  REQUIRE(begin != std::string::npos);
  return {all.substr(begin + mark.size(), all.find("// ", begin + mark.size()) - begin - mark.size()), {0x210, 64}};
}

// Pointers to separate buffers, then integers, of which two may make up a further pointer. `same` makes all pointers
// equal.
struct Arguments {
  int pointers = 0;
  std::vector<std::int32_t> numbers{};
  bool same = false;
};

ThreadRaces races_of(const std::string& kernel, Sizes grid, Sizes block, const Arguments& arguments) {
  LaunchValues launch;
  launch.grid = grid;
  launch.block = block;
  launch.parameters.resize(64);
  std::uint32_t at = 0;
  for (int each = 0; each < arguments.pointers; ++each, at += 8) {
    const std::uint64_t address = std::uint64_t{1 + (arguments.same ? 0u : static_cast<unsigned>(each))} << 40;
    std::memcpy(launch.parameters.data() + at, &address, sizeof address);
    launch.addresses.push_back(at);
  }
  for (const std::int32_t number : arguments.numbers) {
    std::memcpy(launch.parameters.data() + at, &number, sizeof number);
    at += 4;
  }
  return code_of(kernel).thread_races(launch);
}

}  // namespace

TEST_CASE("threads of different blocks race if they use the same byte") {
  const auto race = [](const ThreadRaces& races) {
    REQUIRE(races.found);
    CHECK(races.found->first.block != races.found->second.block);
    CHECK(races.found->first.address < races.found->second.address + races.found->second.bytes);
    CHECK(races.found->second.address < races.found->first.address + races.found->first.bytes);
    return *races.found;
  };
  const ThreadRace shifted = race(races_of("shift", {40, 1, 1}, {256, 1, 1}, {2, {10'000}, true}));
  CHECK(shifted.first.kind == AccessKind::load);
  CHECK(shifted.second.kind == AccessKind::store);
  CHECK(shifted.first.address == (std::uint64_t{1} << 40) + 1024);
  CHECK(shifted.first.thread == Sizes{255, 0, 0});
  CHECK(shifted.second.block == Sizes{1, 0, 0});
  CHECK(shifted.second.thread == Sizes{0, 0, 0});
  race(races_of("shift", {100'000, 1, 1}, {1024, 1, 1}, {2, {100'000'000}, true}));
  race(races_of("transpose", {2, 96, 1}, {32, 1, 1}, {2, {96, 64, 64}}));
  race(races_of("brighten", {4, 6, 1}, {256, 1, 1}, {2, {1000, 0}}));
  race(races_of("update", {8, 8, 1}, {16, 16, 1}, {1, {128, 0, 6}}));
  race(races_of("add_columns", {64, 1, 1}, {128, 1, 1}, {2, {300, 1}}));
  CHECK(races_of("swap", {8, 8, 1}, {16, 16, 1}, {1, {128, -128}}).found);
}

TEST_CASE("threads that use different bytes do not race") {
  const auto none = [](const ThreadRaces& races) {
    CHECK_FALSE(races.found);
    CHECK(races.all_checked);
  };
  none(races_of("shift", {40, 1, 1}, {256, 1, 1}, {2, {10'000}}));
  none(races_of("shift", {100'000, 1, 1}, {1024, 1, 1}, {2, {100'000'000}}));
  none(races_of("transpose", {2, 96, 1}, {32, 1, 1}, {2, {96, 64, 96}}));
  none(races_of("brighten", {4, 6, 1}, {256, 1, 1}, {2, {1000, 1}}));
  none(races_of("swap", {8, 8, 1}, {16, 16, 1}, {1, {128, 1}}));
  none(races_of("add_columns", {64, 1, 1}, {128, 1, 1}, {2, {300, 0}}));
  CHECK_FALSE(races_of("update", {8, 8, 1}, {16, 16, 1}, {1, {128, 3, 1}}).found);
}

TEST_CASE("warps of a block race if no barrier is between their accesses") {
  for (const char* kernel : {"reverse", "permute"}) {
    const ThreadRaces races = races_of(kernel, {4, 1, 1}, {256, 1, 1}, {3, {5}});
    REQUIRE(races.found);
    CHECK(races.found->first.block == races.found->second.block);
    CHECK(races.found->first.thread[0] / 32 != races.found->second.thread[0] / 32);
    CHECK_FALSE(races_of(kernel, {4, 1, 1}, {32, 1, 1}, {3, {5}}).found);
  }
  CHECK_FALSE(races_of("reverse_after_barrier", {4, 1, 1}, {256, 1, 1}, {3, {}}).found);
  CHECK_FALSE(races_of("permute_between_barriers", {4, 1, 1}, {256, 1, 1}, {3, {5}}).found);
  CHECK_FALSE(races_of("named_barriers", {8, 1, 1}, {128, 1, 1}, {3, {4}}).found);
  CHECK_FALSE(races_of("warp_scratch", {20, 1, 1}, {256, 1, 1}, {3, {}}).found);
}

TEST_CASE("atomic operations race only beyond their scope") {
  const ThreadRaces races = races_of("histogram_of_block", {16, 1, 1}, {256, 1, 1}, {1, {50'000, 0, 0, 1 << 9}});
  CHECK(races.found.has_value());
  CHECK_FALSE(races_of("histogram_of_block", {1, 1, 1}, {256, 1, 1}, {1, {50'000, 0, 0, 1 << 9}}).found);
  CHECK_FALSE(races_of("histogram", {16, 1, 1}, {256, 1, 1}, {1, {50'000, 0, 0, 1 << 9}}).found);
}

TEST_CASE("what a lock, a ticket, a fence or the grid's barrier may order does not race") {
  CHECK_FALSE(races_of("locked", {32, 1, 1}, {64, 1, 1}, {3, {}}).found);
  CHECK_FALSE(races_of("last_block_sums", {64, 1, 1}, {32, 1, 1}, {4, {}}).found);
  CHECK_FALSE(races_of("compact", {64, 1, 1}, {64, 1, 1}, {1, {4096}}).found);
  CHECK_FALSE(races_of("stencil_of_grid", {64, 1, 1}, {128, 1, 1}, {2, {64 * 128, 6}}).found);
}

TEST_CASE("equal constants of several threads do not race") {
  CHECK_FALSE(races_of("relax", {16, 1, 1}, {256, 1, 1}, {2, {4096, 0, 0, 1 << 9}}).found);
}

}  // namespace thread_races_test
