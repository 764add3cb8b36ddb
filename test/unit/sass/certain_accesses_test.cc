// Tests which accesses a launch is certain to make, and where others may lie. The code was compiled with nvcc:
// certain.sm90.txt in test/data/sass from the kernels in test/gpu/addresses/cuda and some kernels in kernels.cu,
// tables.sm90.txt from tables.cu, and branches.sm90.txt from kernels in kernels.cu and relocated.cu.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "sass/byte_ranges.h"

using namespace cudadiag::sass;

namespace {

constexpr std::uint64_t kMemory = 0x7f1400000000;
constexpr std::int64_t kGiB = std::int64_t{1} << 30;

std::string code_of(const std::string& program) {
  std::string all;
  for (const char* name : {"certain", "tables", "branches"}) {
    std::ifstream file(TEST_DATA "/sass/" + std::string(name) + ".sm90.txt");
    all.append(std::istreambuf_iterator<char>(file), {});
  }
  const std::string mark = "// " + program + "\n";
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
  CHECK(all.only_these());
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
  CHECK_FALSE(all.only_these());
  CHECK(extent(all, 0, AccessKind::load) == Extent{0, 4 * (((1ll << 20) - 1) * (1ll << 20) + 63)});
  CHECK(extent(all, 8, AccessKind::store) == Extent{0, 4 * ((1ll << 20) - 1)});
}

TEST_CASE("loops run as many times as the launch's parameters say") {
  const Launched launch = Launched({2048, 1, 1}, {512, 1, 1}).address().address().address().put(kGiB);
  const auto all = launch.accesses("wrong_of_three");
  CHECK(all.only_these());
  CHECK(extent(all, 0, AccessKind::load) == Extent{0, kGiB - 1});
  CHECK(extent(all, 16, AccessKind::store) == Extent{0, 8 * (kGiB - 1)});
}

TEST_CASE("the end of a loop may be a pointer; an access after a long loop is certain too") {
  Launched launch = Launched({1, 1, 1}, {256, 1, 1}).address().put(kMemory + (64u << 20)).address().put(2 * kGiB);
  const auto all = launch.accesses("end_pointer");
  CHECK_FALSE(all.only_these());
  CHECK(extent(all, 0, AccessKind::load)->least == 0);
  CHECK(extent(all, 16, AccessKind::store) == Extent{8 * kGiB, 8 * kGiB + 1020});
}

TEST_CASE("an index that is read from memory is not certain") {
  const Launched launch = Launched({1, 1, 1}, {32, 1, 1}).address().put(0ll).address().address();
  const auto all = launch.accesses("null_by_design");
  CHECK_FALSE(all.only_these());
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
    CHECK(all.only_these());
    CHECK(extent(all, 16, AccessKind::load) == Extent{0, 124});
  }
  SUBCASE("null and an offset") {
    const Launched launch = Launched({1, 1, 1}, {64, 1, 1}).put(256ll << 20).put(1.0f);
    CHECK(extent(launch.accesses("carved_from_null"), 0, AccessKind::store) == Extent{0, 252});
  }
  SUBCASE("an object of the host") {
    const Launched launch = Launched({256, 1, 1}, {256, 1, 1}).put(65536).put(0x555512345670ll).put(0.1f);
    const auto all = launch.accesses("captured_this");
    CHECK_FALSE(all.only_these());
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
  CHECK_FALSE(all.only_these());
  CHECK(extent(all, 0, AccessKind::store) == Extent{4000, 4124});
}

TEST_CASE("the upper half of a product is added to 64 bits") {
  const auto all =
      Launched({1, 1, 1}, {32, 1, 1}).address().put(80'000'000).put(-20'000'000).put(-1).accesses("upper_half");
  CHECK((!extent(all, 0, AccessKind::store) || extent(all, 0, AccessKind::store) == Extent{0, 0}));
}

// ---- addresses that the kernel reads from memory

namespace {

constexpr std::uint64_t kRows = kMemory, kSheet = kMemory + (1ull << 34), kCells = 0x7f5000000000;

template <typename T>
void put(std::string& bytes, T value) {
  bytes.resize((bytes.size() + sizeof value - 1) / sizeof value * sizeof value);
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Returns the bytes of `count` rows, each with an address and the number of its cells.
std::string rows(std::size_t count, std::int32_t cells) {
  std::string bytes;
  for (std::size_t row = 0; row < count; ++row) {
    put(bytes, kCells + (row << 32));
    put(bytes, cells);
    put(bytes, std::int32_t{});
  }
  return bytes;
}

// Makes a word of known memory an address.
void address_at(LaunchValues& launch, std::size_t memory, std::size_t offset) {
  launch.addresses.push_back(word_in(memory, offset));
}

}  // namespace

TEST_CASE("a table whose contents are known shows which of its addresses are used") {
  Launched launch({4, 3, 1}, {256, 1, 1});
  launch.address().values.memory = {{kRows, rows(3, 1000)}};
  for (std::size_t row = 0; row < 3; ++row) address_at(launch.values, 0, 16 * row);
  SUBCASE("by all threads for which the table has a number") {
    const auto all = launch.accesses("table__8");
    CHECK(all.only_these());
    for (std::size_t row = 0; row < 3; ++row) {
      CHECK(extent(all, word_in(0, 16 * row), AccessKind::load) == Extent{0, 3996});
    }
  }
  SUBCASE("unless it is not known") {
    launch.values.memory.clear();
    launch.values.addresses.resize(1);
    const auto all = launch.accesses("table__8");
    CHECK_FALSE(all.only_these());
    CHECK_FALSE(extent(all, word_in(0, 0), AccessKind::load));
  }
  SUBCASE("or not all of it") {
    launch.values.memory[0].bytes.resize(40);
    launch.values.addresses.pop_back();
    CHECK_FALSE(launch.accesses("table__8").only_these());
  }
}

TEST_CASE("an address may be read through another one") {
  Launched launch({1, 1, 1}, {256, 1, 1});
  std::string sheet;
  put(sheet, std::int64_t{7});
  put(sheet, kRows);
  launch.put(kSheet).values.memory = {{kRows, rows(2, 100)}, {kSheet, sheet}};
  launch.values.addresses = {0, word_in(0, 0), word_in(0, 16), word_in(1, 8)};
  const auto all = launch.accesses("sheet__8");
  CHECK(all.only_these());
  CHECK(extent(all, word_in(0, 16), AccessKind::store) == Extent{0, 396});
  CHECK_FALSE(extent(all, word_in(0, 0), AccessKind::store));
}

TEST_CASE("a list is followed to its end") {
  Launched launch({1, 1, 1}, {1, 1, 1});
  std::string nodes[2];
  put(nodes[0], 0.5);
  put(nodes[0], kSheet);
  put(nodes[1], 0.5);
  put(nodes[1], std::uint64_t{0});
  launch.address().values.memory = {{kRows, nodes[0]}, {kSheet, nodes[1]}};
  address_at(launch.values, 0, 8);
  auto all = launch.accesses("list__8");
  CHECK(all.only_these());
  CHECK(extent(all, word_in(0, 8), AccessKind::store) == Extent{0, 0});
  SUBCASE("or to an address that is none") {
    put(nodes[1].erase(8), std::uint64_t{5700});
    launch.values.memory[1].bytes = nodes[1];
    all = launch.accesses("list__8");
    CHECK(extent(all, word_in(1, 8), AccessKind::store) == Extent{0, 0});
  }
}

TEST_CASE("a null pointer that was read from a table is found") {
  Launched launch({1, 1, 1}, {32, 1, 1});
  std::string table;
  for (int i = 0; i < 3; ++i) put(table, std::uint64_t{0});
  launch.put(kSheet).values.memory = {{kRows, table}, {kSheet, {}}};
  put(launch.values.memory[1].bytes, kRows);
  launch.values.addresses = {0, word_in(1, 0)};
  const auto all = launch.accesses("vtable__8");
  CHECK(extent(all, word_in(0, 16), AccessKind::store) == Extent{0, 124});
}

TEST_CASE("a table that the kernel itself changes is not known") {
  Launched launch({1, 1, 1}, {32, 1, 1});
  launch.address().values.memory = {{kRows, rows(2, 100)}};
  for (std::size_t row = 0; row < 2; ++row) address_at(launch.values, 0, 16 * row);
  const auto all = launch.accesses("relinked__8");
  CHECK_FALSE(all.only_these());
  CHECK_FALSE(extent(all, word_in(0, 16), AccessKind::store));
}

TEST_CASE("an address that is chosen by an unknown index is not known") {
  Launched launch({1, 1, 1}, {32, 1, 1});
  launch.address().address().values.memory = {{kRows, rows(2, 100)}};
  for (std::size_t row = 0; row < 2; ++row) address_at(launch.values, 0, 16 * row);
  CHECK_FALSE(launch.accesses("chosen__8_8").only_these());
  std::string indices;
  for (int i = 0; i < 32; ++i) put(indices, i % 2 * 2);
  launch.values.memory.push_back({kMemory + (1ull << 34), indices});
  const auto all = launch.accesses("chosen__8_8");
  CHECK(all.only_these());
  CHECK(extent(all, word_in(0, 16), AccessKind::store) == Extent{0, 0});
}

TEST_CASE("a pointer that was read from memory is compared by its value") {
  Launched launch({1, 1, 1}, {256, 1, 1});
  std::string plan;
  put(plan, std::uint64_t{1} << 20);  // in another order: count, in, out
  put(plan, kSheet);
  put(plan, kSheet + (1u << 22));
  launch.address().values.memory = {{kMemory, plan}};
  launch.values.addresses = {0, word_in(0, 8), word_in(0, 16)};
  const auto all = launch.accesses("planned__8");
  const auto load = extent(all, word_in(0, 0), AccessKind::load);
  REQUIRE(load);
  CHECK(load->least == 0);
  SUBCASE("unless the addresses are unknown") {
    launch.values.memory.clear();
    launch.values.addresses.resize(1);
    CHECK_FALSE(extent(launch.accesses("planned__8"), word_in(0, 0), AccessKind::load));
  }
}

TEST_CASE("pointers in a parameter that the code copies to the stack") {
  const auto launched = [](std::uint64_t third, int used) {
    Launched launch({1, 1, 1}, {32, 1, 1});
    launch.address().address().put(third).put(std::uint64_t{0}).put(std::uint64_t(used)).address();
    return launch.accesses("update__40_8");
  };
  CHECK(extent(launched(0, 3), 16, AccessKind::load) == Extent{0, 124});
  CHECK(extent(launched(0, 2), 8, AccessKind::load) == Extent{0, 124});
  CHECK_FALSE(extent(launched(0, 2), 16, AccessKind::load));
}

TEST_CASE("halves of an address that are loaded apart are numbers") {
  Launched launch({1, 1, 1}, {32, 1, 1});
  std::string halves;
  put(halves,
      std::uint64_t{0x00007f12} << 32 | 0x00400000);  // the lower half is first, and the code expects the upper one
  launch.address().values.memory = {{kMemory, halves}};
  launch.values.addresses = {0, word_in(0, 0)};
  const auto found = extent(launch.accesses("halves__8"), std::nullopt, AccessKind::store);
  CHECK(found == Extent{0x0040000000007f12, 0x0040000000007f12 + 124});
}

TEST_CASE("accesses that depend on memory are open, with the words that they go through") {
  Launched launch({1, 1, 1}, {32, 1, 1});
  launch.address().address();
  const auto all = launch.accesses("chosen__8_8");
  CHECK(all.all_listed);
  REQUIRE(all.open.size() == 2);  // the pointer in the table, and the memory that it points to
  CHECK(all.open[0].words == std::vector<std::uint32_t>{0});
  CHECK(all.open[0].kind == AccessKind::load);
  CHECK(all.open[1].words.empty());
  CHECK(all.open[1].kind == AccessKind::store);
}

TEST_CASE("numbers that threads read from different words and use as addresses") {
  Launched launch({1, 1, 1}, {32, 1, 1});
  std::string table, indices;
  put(table, std::uint64_t{1} << 48 | 0x1000);
  put(table, std::uint64_t{2} << 48 | 0x1000);
  for (int i = 0; i < 32; ++i) put(indices, i % 2);
  launch.address().address().values.memory = {{kMemory, table}, {kMemory + (1ull << 34), indices}};
  const auto all = launch.accesses("chosen__8_8");
  CHECK(extent(all, word_in(0, 0), AccessKind::store) == Extent{0, 0});
  CHECK(extent(all, word_in(0, 8), AccessKind::store) == Extent{0, 0});
  CHECK_FALSE(extent(all, std::nullopt, AccessKind::store));
}

namespace {

Extent possible(const CertainAccesses& all, std::uint32_t word, AccessKind kind) {
  Extent out{kGiB, -1};
  for (const CertainAccess& each : all.possible) {
    if (each.parameter != word || each.kind != kind) continue;
    out = {std::min(out.least, each.least), std::max(out.most, each.most)};
  }
  return out;
}

}  // namespace

TEST_CASE("accesses of threads that a value in memory selects") {
  Launched launch({4, 1, 1}, {256, 1, 1});
  SUBCASE("the others exit") {
    const CertainAccesses all = launch.address().address().address().put(1000).accesses("flagged");
    CHECK(all.all_listed);
    CHECK_FALSE(all.only_these());
    CHECK(all.open.empty());
    CHECK(extent(all, 0, AccessKind::load) == Extent{0, 3996});
    CHECK(all.accesses.size() == 1);
    CHECK(possible(all, 8, AccessKind::load) == Extent{0, 3996});
    CHECK(possible(all, 16, AccessKind::store) == Extent{0, 3996});
  }
  SUBCASE("they take turns in a list") {
    const CertainAccesses all = launch.address().address().address().accesses("appended");
    CHECK(all.all_listed);
    CHECK(possible(all, 16, AccessKind::atomic) == Extent{0, 0});
    REQUIRE(all.open.size() == 1);
    CHECK(all.open.front().words == std::vector<std::uint32_t>{8});
  }
  SUBCASE("they loop as often as the memory says") {
    const CertainAccesses all = launch.address().address().accesses("counted");
    CHECK(all.all_listed);
    CHECK(all.open.empty());
    CHECK(possible(all, 0, AccessKind::load) == Extent{0, 4092});
    CHECK(possible(all, 8, AccessKind::load) == Extent{0, 4092});
    CHECK(possible(all, 8, AccessKind::store) == Extent{0, 4096});
  }
}

namespace {

// Returns whether `all` allows this access of one thread.
bool allows(const CertainAccesses& all, const CertainAccess& access) {
  const auto contains = [&](const CertainAccess& each) {
    return each.instruction == access.instruction && each.parameter == access.parameter && each.least <= access.least &&
           access.most <= each.most;
  };
  const auto may_be = [&](const OpenAccess& open) {
    return open.words.empty() || std::ranges::find(open.words, access.parameter.value_or(0)) != open.words.end();
  };
  return std::ranges::any_of(all.accesses, contains) || std::ranges::any_of(all.possible, contains) ||
         std::ranges::any_of(all.open, may_be);
}

}  // namespace

// A thread is followed with known memory. It must not access anything that is not expected of it if the memory is
// unknown.
TEST_CASE("whatever the memory contains, threads access what was expected") {
  struct {
    const char* kernel;
    std::size_t pointers;  // besides the memory
    std::size_t least;     // at least this many accesses have a known range
  } const cases[] = {{"nested", 1, 5},    {"walked", 2, 2}, {"skipped", 1, 2},   {"switched", 2, 3},
                     {"chosen_by", 2, 1}, {"summed", 2, 3}, {"left_early", 2, 3}};
  std::minstd_rand random(7);
  for (const auto& [kernel, pointers, least] : cases) {
    CAPTURE(kernel);
    Launched launch({1, 1, 1}, {1, 1, 1});
    launch.address();
    for (std::size_t i = 0; i < pointers; ++i) launch.address();
    if (std::string_view(kernel) != "walked") launch.put(5);
    const CertainAccesses all = launch.accesses(kernel);
    CHECK(all.all_listed);
    CAPTURE(std::string(kernel));
    CHECK(all.possible.size() + all.accesses.size() >= least);
    std::size_t followed = 0;
    for (int round = 0; round < 120; ++round) {
      Launched one = launch;
      std::vector<std::int32_t> contents(256);
      for (std::int32_t& each : contents) each = static_cast<std::int32_t>(random() % 17) - 8;
      one.values.memory = {{kMemory, {reinterpret_cast<const char*>(contents.data()), 4 * contents.size()}}};
      const CertainAccesses its = one.accesses(kernel);
      followed += its.only_these() ? 1 : 0;
      for (const CertainAccess& access : its.accesses) {
        CAPTURE(access.instruction);
        CHECK(allows(all, access));
      }
    }
    CHECK(followed > 80);
  }
}

TEST_CASE("an address that a kernel chooses between a parameter and memory is open") {
  const auto may_be_anywhere = [](const OpenAccess& open) { return open.words.empty(); };
  Launched table({1, 1, 1}, {32, 1, 1}), list({1, 1, 1}, {32, 1, 1});
  const CertainAccesses tabled = table.address().address().accesses("tabled");
  CHECK(std::ranges::any_of(tabled.open, may_be_anywhere));
  const CertainAccesses linked = list.address().accesses("linked");
  CHECK(std::ranges::any_of(linked.open, may_be_anywhere));
}

TEST_CASE("an access to a block's own shared memory succeeds") {
  constexpr std::uint32_t kSystems = 1024;
  Launched folded({4, 1, 1}, {256, 1, 1});
  folded.address().address();
  const auto open_if = [](Launched launch, std::uint32_t shared_bytes) {
    launch.values.shared_bytes = shared_bytes;
    const CertainAccesses all = launch.accesses("folded");
    CHECK(all.all_listed);
    CHECK(all.accesses.size() + all.possible.size() >= 2);
    return !all.open.empty();
  };
  CHECK_FALSE(open_if(folded, kSystems + 1024));
  CHECK(open_if(folded, kSystems + 1020));
  CHECK(open_if(folded, 0));
  folded.values.block = {288, 1, 1};
  CHECK(open_if(folded, kSystems + 1024));
  SUBCASE("also on sm_80, where the index is scaled in the address") {
    std::ifstream file(TEST_DATA "/sass/folded.sm80.txt");
    const ByteRanges code(std::string(std::istreambuf_iterator<char>(file), {}), {0x160, 16}, Calls::harmless);
    folded.values.block = {256, 1, 1};
    folded.values.shared_bytes = 1024;
    CHECK(code.certain(folded.values).only_these());
    folded.values.block = {288, 1, 1};
    CHECK_FALSE(code.certain(folded.values).only_these());
  }
  SUBCASE("and only the access through the pointer is open") {
    Launched taken({70000, 1, 1}, {256, 1, 1});
    taken.address().address().put(32768);
    taken.values.shared_bytes = kSystems + 4;
    const CertainAccesses all = taken.accesses("taken");
    CHECK(all.all_listed);
    REQUIRE(all.open.size() == 1);
    CHECK(all.open.front().words == std::vector<std::uint32_t>{0});
  }
}

TEST_CASE("a copy to shared memory is open, because its address there is not followed") {
  Launched launch({1, 1, 1}, {256, 1, 1});
  launch.address().address().put(300);
  launch.values.shared_bytes = 2048;
  const CertainAccesses all = launch.accesses("fetched");
  CHECK(all.all_listed);
  REQUIRE(all.open.size() == 1);
  CHECK(all.open.front().words.empty());
  CHECK_FALSE(all.open.front().from_memory);
}

TEST_CASE("where threads part at a diagonal, it is unknown which of them go on") {
  const auto diagonal = [](std::uint32_t blocks, std::uint32_t rows) {
    Launched launch({blocks, rows, 1}, {256, 1, 1});
    return launch.address().put(8192).put(0).address().address().accesses("diagonal");
  };
  const CertainAccesses all = diagonal(8192, 32);
  CHECK(all.all_listed);
  CHECK(possible(all, 0, AccessKind::load) == Extent{0, 4 * 8191});
  CHECK(possible(all, 24, AccessKind::atomic) == Extent{0, 0});
  REQUIRE(all.open.size() == 1);
  CHECK(all.open.front().words == std::vector<std::uint32_t>{16});
  for (const std::uint32_t blocks : {1u, 2u, 7u, 40u}) {
    for (const CertainAccess& access : diagonal(blocks, 1).accesses) CHECK(allows(all, access));
  }
}

TEST_CASE("of a pointer from memory, it is known which parameter leads there") {
  for (const char* kernel : {"handled", "joined"}) {
    CAPTURE(std::string(kernel));
    const CertainAccesses all = Launched({4, 1, 1}, {64, 1, 1}).address().address().accesses(kernel);
    CHECK(all.all_listed);
    CHECK(extent(all, 8, AccessKind::store) == Extent{0, 1020});
    REQUIRE(all.open.size() == 1);
    CHECK(all.open.front().from_memory);
    CHECK(all.open.front().table == 0);
  }
  for (const OpenAccess& open : Launched({1, 1, 1}, {32, 1, 1}).address().address().accesses("tabled").open) {
    CHECK_FALSE(open.from_memory);  // it may be the other parameter
  }
}

// The index may reach past the thread's local memory.
TEST_CASE("an access to a local array by an index is open, even if its address is known") {
  Launched launch({1, 1, 1}, {32, 1, 1});
  const CertainAccesses all = launch.address().put(100'000'000).put(2).accesses("local_index");
  CHECK(all.all_listed);
  CHECK_FALSE(all.open.empty());
}

TEST_CASE("an address from an instruction that changes when the code is loaded is open") {
  const CertainAccesses all = Launched({1, 1, 1}, {32, 1, 1}).put(std::uint64_t{4096}).address().accesses("mark");
  CHECK(all.all_listed);
  REQUIRE(all.accesses.size() == 1);
  CHECK(extent(all, 8, AccessKind::store) == Extent{0, 124});
  REQUIRE(all.open.size() == 1);
  CHECK(all.open.front().instruction == 0xc0);
  CHECK_FALSE(all.open.front().from_memory);
}

// A recursive function may move the stack pointer without limit.
TEST_CASE("local memory that a recursive function uses is open") {
  const CertainAccesses all = Launched({1, 1, 1}, {32, 1, 1}).address().address().put(3).accesses("recursive");
  CHECK(all.all_listed);
  CHECK(extent(all, 0, AccessKind::load) == Extent{0, 12});
  CHECK(std::ranges::count(all.open, Space::local, &OpenAccess::space) == 16);
  CHECK(all.open.size() == 16);
}
