// Tests which accesses a launch is certain to make. The code in test/data/sass/certain.sm90.txt was compiled with nvcc
// from the kernels in test/gpu/addresses/cuda and the last two kernels in test/data/sass/kernels.cu.
#include <doctest/doctest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "sass/byte_ranges.h"

using namespace cudadiag::sass;

namespace {

constexpr std::uint64_t kMemory = 0x7f1400000000;
constexpr std::int64_t kGiB = std::int64_t{1} << 30;

std::string code_of(const std::string& program) {
  std::ifstream file(TEST_DATA "/sass/certain.sm90.txt");
  const std::string all(std::istreambuf_iterator<char>(file), {}), mark = "// " + program + "\n";
  const std::size_t begin = all.find(mark);
  REQUIRE(begin != std::string::npos);
  return all.substr(begin + mark.size(), all.find("// ", begin + mark.size()) - begin - mark.size());
}

struct Launched {
  LaunchValues values;

  Launched(std::array<std::uint32_t, 3> grid, std::array<std::uint32_t, 3> block) {
    values.grid = grid;
    values.block = block;
  }
  template <typename T>
  Launched& put(T value) {
    values.parameters.resize((values.parameters.size() + sizeof value - 1) / sizeof value * sizeof value);
    values.parameters.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Launched& address() {
    put(kMemory + (values.addresses.size() << 34));
    values.addresses.push_back(static_cast<std::uint32_t>(values.parameters.size() - 8));
    return *this;
  }
  CertainAccesses accesses(const std::string& program) const {
    const auto size = static_cast<std::uint32_t>(values.parameters.size());
    const ByteRanges code(code_of(program), {0x210, size}, Calls::harmless);
    CHECK(code.unknown_opcodes() == 0);
    return code.certain(values);
  }
};

struct Extent {
  std::int64_t least = 0, most = 0;
  bool operator==(const Extent&) const = default;
};

// Returns the combined extent of all accesses of this kind through this parameter word; empty if there are none.
std::optional<Extent> extent(const CertainAccesses& all, std::optional<std::uint32_t> word, AccessKind kind) {
  std::optional<Extent> out;
  for (const CertainAccess& each : all.accesses) {
    if (each.parameter != word || each.kind != kind) continue;
    if (!out) out = {each.least, each.most};
    out->least = std::min(out->least, each.least);
    out->most = std::max(out->most, each.most);
  }
  return out;
}

}  // namespace

TEST_CASE("the extent of an access is that of the threads that perform it") {
  const Launched launch = Launched({64, 16384, 1}, {256, 1, 1}).address().put(65536ll).put(16384).put(16384);
  const auto all = launch.accesses("row_stride");
  CHECK(all.only_these);
  REQUIRE(all.accesses.size() == 1);
  CHECK(all.accesses[0].bytes == 4);
  CHECK(all.accesses[0].step == 4);
  CHECK(extent(all, 0, AccessKind::store) == Extent{0, 4 * (16383ll * 65536 + 16383)});
  const Launched narrow = Launched({64, 16384, 1}, {256, 1, 1}).address().put(65536ll).put(1).put(2);
  CHECK(extent(narrow.accesses("row_stride"), 0, AccessKind::store) == Extent{0, 4 * 65536});
}

TEST_CASE("an index of 32 bits overflows as it does on the GPU") {
  const auto all = Launched({40000, 1, 1}, {256, 1, 1}).address().put(65536).accesses("index_overflow");
  CHECK(extent(all, 0, AccessKind::store) == Extent{-2 * kGiB, 2 * kGiB - 65536 + 255});
  const auto fits = Launched({32768, 1, 1}, {256, 1, 1}).address().put(65536).accesses("index_overflow");
  CHECK(extent(fits, 0, AccessKind::store) == Extent{0, 2 * kGiB - 65536 + 255});
}

TEST_CASE("threads at the corners of the grid show what cannot be followed for all threads at once") {
  const Launched launch = Launched({4096, 1, 1}, {256, 1, 1}).address().address().put(64ll).put(1ll << 20);
  const auto all = launch.accesses("transposed");
  CHECK_FALSE(all.only_these);
  CHECK(extent(all, 0, AccessKind::load) == Extent{0, 4 * (((1ll << 20) - 1) * (1ll << 20) + 63)});
  CHECK(extent(all, 8, AccessKind::store) == Extent{0, 4 * ((1ll << 20) - 1)});
}

TEST_CASE("loops run as many times as the launch's parameters say") {
  const Launched launch = Launched({2048, 1, 1}, {512, 1, 1}).address().address().address().put(kGiB);
  const auto all = launch.accesses("wrong_of_three");
  CHECK(all.only_these);
  CHECK(extent(all, 0, AccessKind::load) == Extent{0, kGiB - 1});
  CHECK(extent(all, 16, AccessKind::store) == Extent{0, 8 * (kGiB - 1)});
}

TEST_CASE("an access after a loop of unknown length is certain, those inside are not") {
  Launched launch = Launched({1, 1, 1}, {256, 1, 1}).address().put(kMemory + (64u << 20)).address().put(2 * kGiB);
  const auto all = launch.accesses("end_pointer");
  CHECK_FALSE(all.only_these);
  CHECK_FALSE(extent(all, 0, AccessKind::load));
  CHECK(extent(all, 16, AccessKind::store) == Extent{8 * kGiB, 8 * kGiB + 1020});
}

TEST_CASE("an index that is read from memory is not certain") {
  const Launched launch = Launched({1, 1, 1}, {32, 1, 1}).address().put(0ll).address().address();
  const auto all = launch.accesses("null_by_design");
  CHECK_FALSE(all.only_these);
  CHECK(extent(all, 0, AccessKind::load) == Extent{0, 124});
  CHECK(extent(all, 16, AccessKind::load) == Extent{0, 248});
  CHECK_FALSE(extent(all, 24, AccessKind::store));
}

TEST_CASE("an access under a condition counts if the condition holds for the launch") {
  const Launched with = Launched({1, 1, 1}, {32, 1, 1}).address().address().address().address();
  CHECK(extent(with.accesses("null_by_design"), 8, AccessKind::load) == Extent{0, 124});
  const Launched without = Launched({1, 1, 1}, {32, 1, 1}).address().put(0ll).address().address();
  CHECK_FALSE(extent(without.accesses("null_by_design"), 8, AccessKind::load));
}

TEST_CASE("an address computed from a word that is not an address keeps that word as its base") {
  SUBCASE("a null pointer in a structure") {
    const Launched launch = Launched({1, 1, 1}, {32, 1, 1}).address().put(32ll).put(0ll).address();
    const auto all = launch.accesses("null_member");
    CHECK(all.only_these);
    CHECK(extent(all, 16, AccessKind::load) == Extent{0, 124});
  }
  SUBCASE("null and an offset") {
    const Launched launch = Launched({1, 1, 1}, {64, 1, 1}).put(256ll << 20).put(1.0f);
    CHECK(extent(launch.accesses("carved_from_null"), 0, AccessKind::store) == Extent{0, 252});
  }
  SUBCASE("an object of the host") {
    const Launched launch = Launched({256, 1, 1}, {256, 1, 1}).put(65536).put(0x555512345670ll).put(0.1f);
    const auto all = launch.accesses("captured_this");
    CHECK_FALSE(all.only_these);
    CHECK(extent(all, 8, AccessKind::load) == Extent{8, 16});
  }
  SUBCASE("another word with the same number is not its base") {
    const Launched launch = Launched({1, 1, 1}, {32, 1, 1}).address().put(0ll).put(0ll).address();
    CHECK(extent(launch.accesses("null_member"), 16, AccessKind::load) == Extent{0, 124});
  }
}

TEST_CASE("a pointer in a structure among many parameters") {
  const Launched launch = Launched({4, 1, 1}, {32, 1, 1})
                              .address()
                              .address()
                              .put(32)
                              .put(4)
                              .put(1ll)
                              .put(1ll << 28)
                              .put(0ll)
                              .address()
                              .put(1.0)
                              .address()
                              .put(0)
                              .put(0.0)
                              .address()
                              .put(false);
  const auto all = launch.accesses("many_parameters");
  CHECK(extent(all, 48, AccessKind::store) == Extent{0, 8 * (31 + 3 * (1ll << 28))});
}

TEST_CASE("code after an exit that needs two conditions is followed") {
  const auto all = Launched({1, 1, 1}, {32, 1, 1}).address().address().put(0).put(3).accesses("two_conditions");
  CHECK_FALSE(all.only_these);
  CHECK(extent(all, 0, AccessKind::store) == Extent{4000, 4124});
}

TEST_CASE("the upper half of a product is added to 64 bits") {
  const auto all =
      Launched({1, 1, 1}, {32, 1, 1}).address().put(80'000'000).put(-20'000'000).put(-1).accesses("upper_half");
  CHECK((!extent(all, 0, AccessKind::store) || extent(all, 0, AccessKind::store) == Extent{0, 0}));
}
