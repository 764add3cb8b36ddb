#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "wire/rerun.h"

namespace {

struct Parsed {
  bool readable = false, all = false;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> keys;
  std::vector<cudadiag::wire::window::Node> nodes;
  std::vector<std::uint32_t> patience, near;
};

Parsed parse(std::string_view text) {
  Parsed parsed;
  parsed.readable = cudadiag::wire::window::parse(
      text, [&](std::uint64_t key, std::uint32_t from) { parsed.keys.emplace_back(key, from); },
      [&](const cudadiag::wire::window::Node& node) { parsed.nodes.push_back(node); }, [&] { parsed.all = true; },
      [&](std::uint32_t patience) { parsed.patience.push_back(patience); },
      [&](std::uint32_t calls) { parsed.near.push_back(calls); });
  return parsed;
}

using Keys = std::vector<std::pair<std::uint64_t, std::uint32_t>>;

}  // namespace

TEST_CASE("items of all kinds, in any order") {
  const Parsed parsed = parse("00c0ffee00c0ffee@3,patience=250,1@1,near=24,all");
  CHECK(parsed.readable);
  CHECK(parsed.all);
  CHECK(parsed.keys == Keys{{0x00c0ffee00c0ffee, 3}, {1, 1}});
  CHECK(parsed.patience == std::vector<std::uint32_t>{250});
  CHECK(parsed.near == std::vector<std::uint32_t>{24});
}

TEST_CASE("an empty window is readable and contains nothing") {
  const Parsed parsed = parse("");
  CHECK(parsed.readable);
  CHECK_FALSE(parsed.all);
  CHECK(parsed.keys.empty());
}

TEST_CASE("keys are hexadecimal in upper or lower case, counts are decimal, both up to their limits") {
  CHECK(parse("FFFFFFFFFFFFFFFF@4294967295").keys == Keys{{0xffffffffffffffff, 4294967295}});
  CHECK(parse("ffffffffffffffff@0").keys == Keys{{0xffffffffffffffff, 0}});
  CHECK(parse("10@10").keys == Keys{{16, 10}});
}

TEST_CASE("an invalid item makes the window unreadable") {
  for (const std::string bad : {"ab",
                                "@1",
                                "ab@",
                                "ab@x",
                                "ab@-1",
                                "ab@1@2",
                                "xy@1",
                                "0xab@1",
                                "-ab@1",
                                " ab@1",
                                "ab@1 ",
                                "ab@ 1",
                                "10000000000000000@1",
                                "ab@4294967296",
                                "patience=",
                                "patience=x",
                                "patience=1.5",
                                "patience=4294967296",
                                "All",
                                "all@1",
                                ",",
                                ",all",
                                "all,,all",
                                "ab@1;cd@2"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse(bad).readable);
    CHECK_FALSE(parse("ab@1," + bad).readable);
  }
}

TEST_CASE("an item for a graph node consists of its number, the number of nodes, its kernel and a call") {
  const Parsed parsed = parse("node=412/1000/c0ffee@3,ab@1,node=1/1/0@1");
  CHECK(parsed.readable);
  REQUIRE(parsed.nodes.size() == 2);
  CHECK(parsed.nodes[0].index == 412);
  CHECK(parsed.nodes[0].count == 1000);
  CHECK(parsed.nodes[0].function == 0xc0ffee);
  CHECK(parsed.nodes[0].from == 3);
  CHECK(parsed.nodes[1].function == 0);
  CHECK(parsed.keys == Keys{{0xab, 1}});
  for (const std::string bad : {"node=", "node=1/2/ab", "node=1/2@3", "node=1/2/ab@", "node=x/2/ab@1", "node=1/2/xy@1",
                                "node=1/2/3/4@5", "node=/2/ab@1"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse(bad).readable);
  }
}

TEST_CASE("reading stops at the first bad item") {
  const Parsed parsed = parse("ab@1,bad,all,patience=1");
  CHECK_FALSE(parsed.readable);
  CHECK(parsed.keys == Keys{{0xab, 1}});
  CHECK_FALSE(parsed.all);
  CHECK(parsed.patience.empty());
}

TEST_CASE("the text may continue after the window") {
  constexpr std::string_view longer = "ab@12,all";
  CHECK(parse(longer.substr(0, 4)).keys == Keys{{0xab, 1}});
  CHECK_FALSE(parse(longer.substr(0, 3)).readable);
}
