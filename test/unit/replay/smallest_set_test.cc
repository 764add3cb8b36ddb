#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <set>

#include "replay/verdict.h"

using namespace cudadiag::replay;

namespace {

// Imitates a launch that fails only if all blocks in `needed` are restored.
auto needs(const std::set<std::uint32_t>& needed) {
  return [needed](const std::vector<std::uint32_t>& without) {
    return std::none_of(without.begin(), without.end(), [&](std::uint32_t block) { return needed.contains(block); });
  };
}

std::vector<std::uint32_t> numbers(std::uint32_t count) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < count; ++i) all.push_back(2 * i);
  return all;
}

}  // namespace

TEST_CASE("only the needed blocks remain") {
  for (const std::set<std::uint32_t>& needed :
       {std::set<std::uint32_t>{}, {0}, {198}, {0, 100, 198}, {40, 42, 44, 46}}) {
    const Smallest found = smallest_set(numbers(100), needs(needed), 1000);
    CHECK(std::set(found.needed.begin(), found.needed.end()) == needed);
    CHECK(found.whole);
  }
  CHECK(smallest_set({}, needs({}), 10).needed.empty());
}

TEST_CASE("finding few blocks among many takes few replays") {
  CHECK(smallest_set(numbers(1024), needs({100}), 5000).replays < 64);
}

TEST_CASE("a search that is too long ends with its result so far") {
  const Smallest found = smallest_set(numbers(100), needs({0, 2, 4, 6}), 5);
  CHECK(found.replays == 5);
  CHECK(!found.whole);
  for (const std::uint32_t block : numbers(4)) CHECK(std::count(found.needed.begin(), found.needed.end(), block) == 1);
}

TEST_CASE("a search that is interrupted counts only the replays that ended") {
  unsigned replays = 0;
  const Smallest found = smallest_set(
      numbers(8), [&](const auto&) { return ++replays < 3 ? std::optional(false) : std::nullopt; }, 1000);
  CHECK(found.replays == 2);
  CHECK(!found.whole);
  CHECK(found.needed == numbers(8));
}
