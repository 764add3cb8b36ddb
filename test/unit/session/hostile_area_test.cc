// Tests that the reader survives arbitrary bytes in an area: no crash, no hang, and no id outside its table. Also tests
// that it takes zeroes in place of a record for damage.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "session/area_reader.h"
#include "unit/session/busy_area.h"

using namespace cudadiag;
using test::AreaBuilder;
using test::busy_area;

namespace {

void check_references(const session::ProcessRecord& record) {
  for (const auto& operation : record.operations) {
    REQUIRE(operation.thread < record.threads.size());
    REQUIRE(operation.site <= record.sites.size());
    REQUIRE((operation.stream == wire::operation::kNoStream || operation.stream < record.streams.size()));
  }
  for (const auto& site : record.sites) {
    REQUIRE(site.python <= record.python_stacks.size());
    REQUIRE(site.native <= record.native_stacks.size());
    REQUIRE(site.function <= record.functions.size());
  }
  for (const auto& stack : record.python_stacks) {
    for (const auto& frame : stack.frames) REQUIRE(frame.code <= record.codes.size());
  }
  for (const auto& error : record.errors) REQUIRE(error.site <= record.sites.size());
  for (const auto& graph : record.graphs) {
    for (const auto& node : graph.nodes) {
      REQUIRE(node.site <= record.sites.size());
      REQUIRE(node.function <= record.functions.size());
      REQUIRE(node.parent <= graph.nodes.size());
    }
    REQUIRE(graph.changed_from <= record.graphs.size());
    for (const auto& change : graph.changes) {
      if (graph.changed_from != 0) REQUIRE(change.node < record.graphs[graph.changed_from - 1].nodes.size());
    }
    for (const auto& edge : graph.edges) REQUIRE(std::max(edge.from, edge.to) < graph.nodes.size());
  }
  for (const auto& allocation : record.allocations) {
    REQUIRE(std::max(allocation.site, allocation.freed_site) <= record.sites.size());
    REQUIRE((allocation.context == wire::allocation::kNone || allocation.context < record.contexts.size()));
    REQUIRE((allocation.stream == wire::allocation::kNone || allocation.stream < record.streams.size()));
  }
  REQUIRE(record.frozen_error <= record.errors.size());
}

session::ProcessRecord record_of(AreaBuilder& area) { return session::read_area(area.bytes()).record; }

}  // namespace

TEST_CASE("every truncation of an area is read") {
  AreaBuilder area = busy_area();
  const auto whole = area.bytes();
  REQUIRE(session::read_area(whole).record.operations.size() == 5);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    // A copy of exactly this size lets the address sanitizer detect reads past the end.
    const std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    const auto contents = session::read_area(cut);
    REQUIRE(contents.error.empty() == (size >= wire::area::kHeaderSize));
    if (contents.error.empty()) REQUIRE(contents.record.damaged > 0);
    check_references(contents.record);
  }
}

TEST_CASE("areas with flipped bits are read") {
  std::mt19937 random(20261121);
  for (int round = 0; round < 3000; ++round) {
    AreaBuilder area = busy_area();
    const auto bytes = area.bytes();
    for (int flips = 0; flips < 16; ++flips) {
      // Flips only bits that the reader uses. The padding in the header has no meaning.
      const std::size_t at = flips % 2 == 0
                                 ? wire::area::kHeaderSize + random() % (bytes.size() - wire::area::kHeaderSize)
                                 : (random() % 2 == 0 ? random() % 160 + 12 : 1024 + random() % 160);
      bytes[at] ^= std::byte{static_cast<unsigned char>(1u << random() % 8)};
    }
    check_references(session::read_area(bytes).record);
  }
}

TEST_CASE("one long string that is referred to again and again cannot exhaust the memory") {
  AreaBuilder area({.intern_bytes = 1u << 20});
  const auto name = area.string(std::string(60'000, 'x'));
  for (int i = 0; i < 20'000; ++i) area.entry(wire::intern::Tag::function, 0, {name, 0});
  const auto record = session::read_area(area.bytes()).record;
  CHECK(record.functions.size() == 20'000);
  CHECK(record.functions.front().size() == 60'000);
  CHECK(record.functions.back().empty());
  CHECK(record.damaged > 0);
}

TEST_CASE("zeroes in place of a frozen marker are damage if the stream's later marker is not 0") {
  AreaBuilder area;
  area.live_stream(0);
  area.state(wire::area::State::frozen);
  wire::store(area.context(0), wire::context::kState, 1u);
  CHECK(record_of(area).damaged == 0);
  wire::store(area.marker(0), wire::marker::kCompleted, 7);
  CHECK(record_of(area).damaged == 1);
  CHECK(record_of(area).streams[0].completed() == 7);
  wire::store(area.context(0), wire::context::kState, 0u);  // another context may have written it after the freeze
  CHECK(record_of(area).damaged == 0);
  wire::store(area.stream(0), wire::stream::kHostCompleted, 3);
  CHECK(record_of(area).damaged == 1);
  CHECK(record_of(area).streams[0].completed() == 3);
}

TEST_CASE("an operation whose stream has only zeroes for an entry is of an unknown stream") {
  AreaBuilder area;
  area.live_thread(0, 11, 1);
  wire::store(area.kernel(0, 1, 1, 10), wire::operation::kOrdinal, 1u);
  CHECK(record_of(area).damaged == 0);  // a live process may have begun to use the stream just now
  area.state(wire::area::State::frozen);
  CHECK(record_of(area).damaged == 1);
  CHECK(record_of(area).operations[0].stream == wire::operation::kNoStream);
  CHECK(record_of(area).operations[0].ordinal == 0);
  area.live_stream(1);
  CHECK(record_of(area).damaged == 0);
  CHECK(record_of(area).operations[0].stream == 1);
}
