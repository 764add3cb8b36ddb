// Tests which changes to the source of a copy the sampled form of CopySources finds.
#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <vector>

#include "record/memory/copy_sources.h"

using namespace cudadiag::record;

namespace {

using At = CopySources::At;

// Streams of which the test says how far they have come.
struct Gpu {
  Progress progress() const {
    return {this,
            [](const void* gpu, std::uint32_t stream, std::uint32_t ordinal) {
              return static_cast<const Gpu*>(gpu)->done[stream] >= ordinal;
            },
            [](const void* gpu, std::uint32_t) { return static_cast<const Gpu*>(gpu)->others_are_idle; }};
  }
  std::array<std::uint32_t, 200> done{};
  bool others_are_idle = true;
};

constexpr std::uint16_t kThread = 3;
constexpr std::uint32_t kCopySite = 7;

struct Copies {
  explicit Copies(std::uint32_t every = 1) {
    sources->sample(gpu.progress(), every);
    REQUIRE((sources->on() && sources->samples()));
  }

  std::uint64_t begin() const { return reinterpret_cast<std::uint64_t>(memory.data()); }
  std::uint64_t end() const { return begin() + memory.size(); }
  // Returns whether the copy is watched.
  bool copy(std::uint32_t ordinal = 1, bool marked = true) {
    const CopySources::Sampled source[] = {{{begin(), memory.size(), 0, 1}, 0, 0}};
    if (!sources->is_due(kCopySite)) return false;
    const std::uint64_t number = sources->watch_sampled({kCopySite, kThread}, {0, ordinal}, source, 1);
    if (number != 0) sources->issued(number, {0, ordinal}, marked);
    return number != 0 && sources->compares(kThread);
  }
  void reach(std::uint32_t stream, std::uint32_t ordinal) { sources->reach().add(gpu.progress(), {stream, ordinal}); }
  void call(std::uint32_t site, At at = At::enter, bool issues = false) {
    sources->compare_by({site, kThread}, at, issues);
  }
  // Returns whether a change is reported once the first operation of the copy's stream has finished.
  bool found(std::uint32_t ordinal = 1) {
    change = {};
    CHECK_FALSE(sources->has_changes());
    gpu.done[0] = ordinal;
    call(99, At::exit);
    return sources->take_change(change);
  }

  Gpu gpu;
  std::vector<unsigned char> memory = std::vector<unsigned char>(5000, 1);
  std::unique_ptr<CopySources> sources = std::make_unique<CopySources>();
  CopySources::Change change{};
};

}  // namespace

TEST_CASE("a change before the marker of the copy is found, between two calls") {
  for (const bool issues : {false, true}) {
    Copies copies;
    REQUIRE(copies.copy());
    copies.call(11, At::exit);
    copies.call(12, At::enter, issues), copies.call(12, At::exit);
    copies.memory[100] = copies.memory[199] = 2;
    copies.call(13, At::enter, issues);
    REQUIRE(copies.found());
    const CopySources::Change& change = copies.change;
    CHECK((change.begin == copies.begin() + 100 && change.end == copies.begin() + 200 && change.bytes == 2));
    CHECK((change.unchanged == 12 && change.changed == 13 && change.site == kCopySite));
    CHECK((change.source.rows.address == copies.begin() && change.source.rows.end() == copies.end()));
    CHECK_FALSE(copies.sources->compares(kThread));
  }
}

TEST_CASE("a change after the marker says nothing") {
  Copies copies;
  REQUIRE(copies.copy());
  copies.memory[100] = 2;
  copies.gpu.done[0] = 1;
  copies.call(11);
  CHECK_FALSE(copies.found());
  CHECK_FALSE(copies.sources->compares(kThread));
}

TEST_CASE("a change is reported only if no other stream gets an operation before the copy has finished") {
  for (const std::uint32_t stream : {0u, 1u}) {
    Copies copies;
    REQUIRE(copies.copy());
    copies.memory[100] = 2;
    copies.call(11);
    copies.sources->others_issue(stream);
    CHECK(copies.found() == (stream == 0));
    CHECK_FALSE(copies.sources->compares(kThread));
  }
}

TEST_CASE("a copy is watched only while all other streams are idle") {
  Copies copies;
  copies.gpu.others_are_idle = false;
  for (std::size_t i = 0; i <= CopySources::kSlots; ++i) CHECK_FALSE(copies.copy());
  copies.gpu.others_are_idle = true;
  copies.sources->others_issue(1);
  CHECK(copies.copy());
}

TEST_CASE("a change during a call, or around a kernel, has no calls around it") {
  for (const bool kernel : {false, true}) {
    Copies copies;
    REQUIRE(copies.copy());
    copies.call(11), copies.call(11, At::exit);
    if (kernel) copies.sources->pass_by(kThread);
    copies.memory[100] = 2;
    copies.call(12, kernel ? At::enter : At::exit);
    REQUIRE(copies.found());
    CHECK(copies.change.unchanged == 0);
  }
}

TEST_CASE("without a marker directly after the copy, it is not watched") {
  Copies copies;
  for (std::size_t i = 0; i <= CopySources::kSlots; ++i) CHECK_FALSE(copies.copy(1, false));
  copies.memory[100] = 2;
  copies.call(11);
  CHECK_FALSE(copies.found());
  const CopySources::Sampled source[] = {{{copies.begin(), 100, 0, 1}, 0, 0}};
  const std::uint64_t number = copies.sources->watch_sampled({kCopySite, kThread}, {0, 2}, source, 1);
  REQUIRE(number != 0);
  copies.sources->issued(number, {0, 3}, true);  // of a call in a signal handler
  CHECK_FALSE(copies.sources->compares(kThread));
}

TEST_CASE("an operation that may reach the memory explains a change, unless it had finished") {
  enum class When { finished, unfinished, later };
  for (const When when : {When::finished, When::unfinished, When::later}) {
    Copies copies;
    if (when == When::finished) copies.gpu.done[1] = 5;
    if (when != When::later) copies.reach(1, 5);
    CHECK(copies.copy() == (when != When::unfinished));
    if (when == When::later) copies.reach(1, 5);
    copies.memory[100] = 2;
    copies.call(11);
    CHECK(copies.found() == (when == When::finished));
  }
}

TEST_CASE("memory that is freed, or whose stream ends, is not compared") {
  Copies copies;
  REQUIRE(copies.copy());
  copies.sources->forget(copies.end(), copies.end() + 100);
  CHECK(copies.sources->compares(kThread));
  copies.memory[100] = 2;
  copies.sources->forget(copies.end() - 1, copies.end());
  copies.call(11);
  CHECK_FALSE(copies.found());
  CHECK(copies.copy(2));
}

TEST_CASE("one copy in N is watched, and none after a change was found") {
  Copies copies(3);
  for (std::uint32_t i = 1; i <= 7; ++i) {
    CHECK(copies.copy(i) == (i % 3 == 1));
    copies.gpu.done[0] = i;
    copies.call(11);
  }
  Copies again;
  REQUIRE((again.copy(1) && again.copy(2)));
  again.memory[0] = 2;
  again.call(11);
  REQUIRE(again.found(2));
  CHECK_FALSE(again.sources->has_changes());  // of the second copy
  CHECK_FALSE(again.copy(3));
}

TEST_CASE("ranges that meet are joined, and keep all their bytes") {
  PinnedRanges ranges;
  for (const auto& [begin, end] : {std::pair{100u, 200u}, {300u, 400u}, {500u, 600u}, {320u, 330u}, {200u, 210u}}) {
    REQUIRE(ranges.join(begin, end));
  }
  CHECK((ranges.meet(0, 101) && ranges.meet(209, 250) && ranges.meet(331, 332) && ranges.meet(599, 700)));
  CHECK_FALSE((ranges.meet(0, 100) || ranges.meet(210, 300) || ranges.meet(400, 500) || ranges.meet(600, 700)));
  REQUIRE(ranges.join(150, 550));
  CHECK((ranges.meet(250, 251) && ranges.meet(100, 101) && ranges.meet(599, 600)));
  for (std::size_t i = 1; i < PinnedRanges::kMost; ++i) REQUIRE(ranges.join(i * 1000, i * 1000 + 1));
  CHECK_FALSE(ranges.join(10, 20));
  CHECK(ranges.join(0, 200));
}

TEST_CASE("copies that finished without a further call of their thread leave room for others") {
  Copies copies;
  for (std::uint32_t i = 1; i <= 3 * CopySources::kSlots; ++i) {
    REQUIRE(copies.copy(i));
    copies.gpu.done[0] = i;
  }
  CHECK(copies.copy(1000));
}

TEST_CASE("only operations that meet the bytes reach them") {
  Gpu gpu;
  HostReach reach;
  reach.add(gpu.progress(), {1, 5, 100, 200});
  CHECK_FALSE(reach.is_free(gpu.progress(), 199, 300));
  CHECK(reach.is_free(gpu.progress(), 200, 300));
  const std::uint64_t now = reach.now();
  CHECK_FALSE(reach.reached_since(now, 100, 200));
  reach.add(gpu.progress(), {1, 6, 100, 200});
  CHECK(reach.reached_since(now, 100, 200));
  CHECK_FALSE(reach.reached_since(now, 200, 300));
  gpu.done[1] = 5;
  CHECK_FALSE(reach.is_free(gpu.progress(), 100, 200));
  gpu.done[1] = 6;
  CHECK(reach.is_free(gpu.progress(), 100, 200));
}

TEST_CASE("if there is no room for an operation, no memory counts as free, and a dropped one counts as a later one") {
  Gpu gpu;
  HostReach reach;
  const std::uint64_t before = reach.now();
  for (std::uint32_t i = 0; i < HostReach::kMost; ++i) reach.add(gpu.progress(), {i, 1, 100, 200});
  CHECK_FALSE(reach.reached_since(before, 0, 1));
  gpu.done[0] = 1;
  reach.add(gpu.progress(), {100, 1, 100, 200});
  CHECK(reach.reached_since(before, 0, 1));
  CHECK(reach.is_free(gpu.progress(), 0, 1));
  const std::uint64_t now = reach.now();
  CHECK_FALSE(reach.reached_since(now, 0, 1));
  reach.add(gpu.progress(), {101, 1, 100, 200});
  CHECK_FALSE(reach.is_free(gpu.progress(), 0, 1));
  CHECK(reach.reached_since(now, 0, 1));
}
