#include "session/area_reader.h"

#include <doctest/doctest.h>

#include "unit/session/area_builder.h"

using namespace cudadiag;
using test::AreaBuilder;

namespace {

session::ProcessRecord read(AreaBuilder& area) {
  const auto contents = session::read_area(area.bytes());
  REQUIRE(contents.error == "");
  return contents.record;
}

std::vector<std::uint64_t> serials(const session::ProcessRecord& record) {
  std::vector<std::uint64_t> found;
  for (const auto& operation : record.operations) found.push_back(operation.serial);
  return found;
}

}  // namespace

TEST_CASE("bytes that are not an area are rejected with a reason") {
  AreaBuilder area;
  CHECK(session::read_area(area.bytes().first(8191)).error == "it is too short to be a recording");
  wire::store(area.data(), wire::area::kVersion, 9u);
  CHECK(session::read_area(area.bytes()).error ==
        "it was written in format version 9; this cudadiag reads version 6; open it with the version of cudadiag that "
        "wrote it");
  wire::store(area.data(), wire::area::kMagic, 1);
  CHECK(session::read_area(area.bytes()).error == "it is not a cudadiag recording");
}

TEST_CASE("a ring that wrapped around gives its records sorted by time") {
  AreaBuilder area;
  area.live_thread(0, 11, 6);
  area.live_thread(1, 12, 1);
  area.live_stream(0);
  for (std::uint64_t serial = 3; serial <= 6; ++serial) area.kernel(0, serial, 0, 10 * serial);
  area.kernel(1, 1, 0, 45);
  const auto record = read(area);
  CHECK(serials(record) == std::vector<std::uint64_t>{3, 4, 1, 5, 6});
  CHECK(record.operations_issued == 7);
  CHECK(record.damaged == 0);
}

TEST_CASE("records for which the ring keeps only the low half of the serial") {
  AreaBuilder area;
  constexpr std::uint64_t kTurn = std::uint64_t{1} << 32;
  area.live_thread(0, 11, kTurn + 2);
  area.live_stream(0);
  for (const std::uint64_t serial : {kTurn - 1, kTurn + 1, kTurn + 2}) area.kernel(0, serial, 0, serial);
  const auto record = read(area);
  CHECK(serials(record) == std::vector<std::uint64_t>{kTurn - 1, kTurn + 1, kTurn + 2});
  CHECK(record.damaged == 0);
}

TEST_CASE("a record being written is ignored, and one in the wrong place is damage") {
  AreaBuilder area;
  area.live_thread(0, 11, 3);
  area.live_stream(0);
  area.kernel(0, 1, 0, 10);
  wire::store(area.kernel(0, 2, 0, 20), wire::operation::kSerial, 0);
  wire::store(area.kernel(0, 3, 0, 30), wire::operation::kSerial, 4);
  const auto record = read(area);
  CHECK(serials(record) == std::vector<std::uint64_t>{1});
  CHECK(record.damaged == 1);
}

TEST_CASE("held records join those of the rings without duplicates") {
  AreaBuilder area;
  area.live_thread(0, 11, 6);
  area.live_stream(1);
  for (std::uint64_t serial = 3; serial <= 6; ++serial) {
    wire::store(area.kernel(0, serial, 1, 10 * serial), wire::operation::kResult, 700);
  }
  AreaBuilder::write_kernel(area.held(1, 0), 0, 1, 1, 5);
  AreaBuilder::write_kernel(area.held(1, 1), 0, 3, 1, 30);
  const auto record = read(area);
  CHECK(serials(record) == std::vector<std::uint64_t>{1, 3, 4, 5, 6});
  CHECK(record.operations[1].result == 700);
}

TEST_CASE("a stream has its marker, or the frozen one after a freeze") {
  AreaBuilder area;
  area.live_stream(0);
  wire::store(area.stream(0), wire::stream::kHostCompleted, 1);
  wire::store(area.marker(0), wire::marker::kCompleted, 7);
  wire::store(area.frozen(0), wire::frozen::kMarker, 2);
  wire::store(area.frozen(0), wire::frozen::kHostCompleted, 3);
  CHECK(read(area).streams[0].completed() == 7);
  area.state(wire::area::State::frozen);
  const auto record = read(area);
  CHECK(record.streams[0].marker == 2);
  CHECK(record.streams[0].completed() == 3);
}

TEST_CASE("markers in memory of the process are known only from the freeze") {
  AreaBuilder area;
  area.live_stream(0);
  wire::store(area.stream(0), wire::stream::kMarkerIssued, 7);
  CHECK(read(area).streams[0].marker_issued == 7);
  wire::store(area.data(), wire::area::kMarkersPrivate, 1);
  CHECK(read(area).streams[0].marker_issued == 0);
  area.state(wire::area::State::frozen);
  wire::store(area.frozen(0), wire::frozen::kMarker, 2);
  const auto record = read(area);
  CHECK(record.streams[0].marker == 2);
  CHECK(record.streams[0].marker_issued == 7);
}

TEST_CASE("an ordinal without a record is not an operation yet while its thread is inside the call") {
  AreaBuilder area;
  area.live_thread(0, 11, 2);
  area.live_stream(0);
  std::byte* newest = nullptr;
  for (std::uint64_t serial : {1, 2}) {
    newest = area.kernel(0, serial, 0, serial);
    wire::store(newest, wire::operation::kOrdinal, static_cast<std::uint32_t>(serial));
    wire::store(newest, wire::operation::kFlags, std::uint8_t{wire::operation::kReturned});
  }
  const auto issued = [&](std::uint32_t ordinal, std::uint32_t in_flight) {
    wire::store(area.stream(0), wire::stream::kIssued, ordinal);
    wire::store(area.stream(0), wire::stream::kInFlight, in_flight);
    return read(area).streams[0].issued;
  };
  CHECK(issued(2, 1) == 2);
  CHECK(issued(3, 1) == 2);
  CHECK(issued(4, 2) == 2);
  CHECK(issued(3, 0) == 3);  // no call in flight, so the record was lost
  CHECK(issued(4, 1) == 4);
  wire::store(area.stream(0), wire::stream::kMarkerIssued, 3u);
  CHECK(issued(4, 1) == 3);
  wire::store(area.stream(0), wire::stream::kMarkerIssued, 0u);
  // The call in flight belongs to the newest record.
  wire::store(newest, wire::operation::kFlags, std::uint8_t{0});
  CHECK(issued(3, 1) == 3);
  CHECK(issued(3, 2) == 2);
}

TEST_CASE("an ordinal without a record between others is not an operation yet, either") {
  AreaBuilder area;
  area.live_thread(0, 11, 2);
  area.live_thread(1, 12, 0);
  area.live_stream(0);
  for (std::uint64_t serial : {1, 2}) {
    std::byte* record = area.kernel(0, serial, 0, serial);
    wire::store(record, wire::operation::kOrdinal, static_cast<std::uint32_t>(2 * serial - 1));
    const auto flags = wire::operation::kReturned | (serial == 2 ? wire::operation::kContended : 0);
    wire::store(record, wire::operation::kFlags, static_cast<std::uint8_t>(flags));
  }
  wire::store(area.stream(0), wire::stream::kIssued, 3u);
  const auto stream = [&](std::uint32_t in_flight) {
    wire::store(area.stream(0), wire::stream::kInFlight, in_flight);
    return read(area).streams[0];
  };
  CHECK(stream(0).not_given.empty());  // no call in flight, so the record was lost
  CHECK(stream(0).given_between(0, 3) == 3);
  const auto met = stream(1);
  CHECK(met.issued == 3);
  CHECK(met.not_given == std::vector<std::uint32_t>{2});
  CHECK(met.given_between(0, 3) == 2);
  CHECK(met.given_between(0, 1) == 1);
  CHECK(met.given_between(2, 3) == 1);
  CHECK(met.given_between(3, 3) == 0);
  // A marker proves that all earlier operations were queued. An operation proves the same if it began while no other
  // thread was in a call.
  std::byte* newest = area.ring(0, 1);
  wire::store(newest, wire::operation::kFlags, std::uint8_t{wire::operation::kReturned});
  CHECK(stream(1).not_given.empty());
  wire::store(newest, wire::operation::kFlags,
              static_cast<std::uint8_t>(wire::operation::kReturned | wire::operation::kContended));
  wire::store(area.stream(0), wire::stream::kMarkerIssued, 2u);
  CHECK(stream(1).not_given.empty());
  wire::store(area.stream(0), wire::stream::kMarkerIssued, 1u);
  CHECK(stream(1).not_given.size() == 1);
  // The marker shows that all operations up to it have finished.
  wire::store(area.marker(0), wire::marker::kCompleted, 2u);
  CHECK(stream(1).not_given.empty());
}

TEST_CASE("interned entries refer to each other by their ids") {
  AreaBuilder area;
  using wire::intern::Tag;
  const auto file = area.string("train.py");
  const auto name = area.string("forward");
  area.entry(Tag::code, 3, {file, name, 40, 11}, "abc");
  area.entry(Tag::python, 1 | wire::intern::kTruncated, {1, 24});
  area.entry(Tag::function, 0, {area.string("_Z4fillPii"), 0});
  area.entry(Tag::module, 2, {0x1000, 0, 0x2000, 0, 0x3000, 0, area.string("/lib/a.so"), 0}, "\xab\x01");
  area.entry(Tag::native, 1, {1, 0, 0x42, 0});
  area.entry(Tag::site, 0, {1, 1, 1, 1u | (1u << 16)});
  area.entry(Tag::note, 0, {area.string("cupti-held"), area.string("held by another tool")});
  area.entry(Tag::property, 0, {area.string("cwd"), area.string("/home")});
  wire::store(area.site_count(1), wire::Field<std::uint64_t, 0>{}, 17);

  const auto record = read(area);
  CHECK(record.damaged == 0);
  REQUIRE(record.codes.size() == 1);
  CHECK(record.codes[0].file == "train.py");
  CHECK(record.codes[0].qualified_name == "forward");
  CHECK(record.codes[0].line_table == "abc");
  REQUIRE(record.python_stacks.size() == 1);
  CHECK(record.python_stacks[0].truncated);
  CHECK(record.python_stacks[0].frames[0].offset == 24);
  CHECK(record.functions == std::vector<std::string>{"_Z4fillPii"});
  REQUIRE(record.modules.size() == 1);
  CHECK(record.modules[0].build_id == "ab01");
  CHECK(record.modules[0].end == 0x3000);
  CHECK(record.native_stacks[0].frames[0].address == 0x42);
  REQUIRE(record.sites.size() == 1);
  CHECK(record.sites[0].kind == wire::operation::Kind::kernel);
  CHECK(record.sites[0].thread == 1);
  CHECK(record.sites[0].operations == 17);
  CHECK(record.notes[0].text == "held by another tool");
  CHECK(record.properties.at("cwd") == "/home");
}

TEST_CASE("ids that refer to nothing become 0 and are counted") {
  AreaBuilder area;
  area.entry(wire::intern::Tag::site, 0, {5, 6, 7, 1});
  const auto record = read(area);
  REQUIRE(record.sites.size() == 1);
  CHECK(record.sites[0].python == 0);
  CHECK(record.sites[0].function == 0);
  CHECK(record.damaged == 3);
}

TEST_CASE("a graph is assembled from its pieces") {
  AreaBuilder area;
  using wire::intern::Tag;
  area.entry(Tag::function, 0, {area.string("scale"), 0});
  area.entry(Tag::site, 0, {0, 0, 1, 1});
  area.entry(Tag::graph, 0, {1, 3, 1, 0});
  area.entry(Tag::graph, 0, {0, 0, 0, 0});
  // The nodes are a kernel with grid 5,6,7, block 8,9,10 and 11 bytes, a child graph, and a memset in the child graph.
  area.entry(Tag::graph_nodes, 2, {1, 0, 1, 1, 5, 6 | 7 << 16, 8 | 9 << 16, 10, 11, 0, 1, 0, 0, 0, 0, 4 << 16, 0, 0});
  area.entry(Tag::graph_nodes, 1, {1, 2, 0, 0, 0, 0, 0, 2 << 16, 0, 2});
  area.entry(Tag::graph_edges, 1, {1, 0, 0, 1});
  const auto record = read(area);
  CHECK(record.damaged == 0);
  REQUIRE(record.graphs.size() == 2);
  CHECK(record.graphs[1].whole);
  const session::Graph& graph = record.graphs[0];
  CHECK(graph.whole);
  REQUIRE(graph.nodes.size() == 3);
  CHECK(graph.nodes[0].function == 1);
  CHECK(graph.nodes[0].grid == session::Dim3{5, 6, 7});
  CHECK(graph.nodes[0].block == session::Dim3{8, 9, 10});
  CHECK(graph.nodes[0].shared_bytes == 11);
  CHECK(graph.nodes[1].type == 4);
  CHECK(graph.nodes[2].parent == 2);
  REQUIRE(graph.edges.size() == 1);
  CHECK(graph.edges[0].to == 1);
}

namespace {

// Builds graph 1 with three nodes, and graph 2, a changed version of graph 1. The second of two launches uses graph 2.
AreaBuilder changed_graph(const std::vector<std::uint32_t>& graph, const std::vector<std::uint32_t>& changes) {
  using wire::intern::Tag;
  AreaBuilder area;
  area.live_thread(0, 11, 2);
  for (int site = 1; site <= 3; ++site) area.entry(Tag::site, 0, {0, 0, 0, 0});
  area.entry(Tag::graph, 0, {1, 3, 0, 0});
  area.entry(Tag::graph_nodes, 3,
             std::vector<std::uint32_t>{1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0});
  area.entry(Tag::graph, 0, graph);
  area.entry(Tag::graph_changes, static_cast<std::uint16_t>(changes.size() / 2 - 1), changes);
  for (std::uint32_t serial = 1; serial <= 2; ++serial) {
    std::byte* launch = area.kernel(0, serial, wire::operation::kNoStream, serial);
    wire::store(launch, wire::operation::kKind, static_cast<std::uint8_t>(wire::operation::Kind::graph));
    wire::store(launch, wire::operation::kGraph, serial);
  }
  return area;
}

}  // namespace

TEST_CASE("a launch of a changed graph has the nodes of the original, and the calls that changed them") {
  AreaBuilder area = changed_graph({1, 2, 0, 1}, {2, 0, 1, 2, 2, 3});
  const auto record = read(area);
  CHECK(record.damaged == 0);
  REQUIRE(record.operations.size() == 2);
  const session::Operation &before = record.operations[0], &after = record.operations[1];
  CHECK((before.graph == 1 && before.graph_changed == 0));
  CHECK((after.graph == 1 && after.graph_changed == 2 && after.graph_flags == 0));
  CHECK(record.graphs[0].whole);
  for (std::uint32_t node = 0; node < 3; ++node) {
    CHECK(session::changed_at(record, before, node) == 0);
    CHECK(session::changed_at(record, after, node) == (node == 0 ? 0 : node + 1));
  }
  CHECK(session::changed_at(record, after, 3) == 0);
  CHECK(session::may_record_events(record, 2) == session::may_record_events(record, 1));
}

TEST_CASE("missing or invalid changes do not count as all of them") {
  std::uint64_t damaged = 1;
  std::vector<std::uint32_t> graph = {1, 2, 0, 1}, changes = {2, 0, 1, 2, 2, 3};
  SUBCASE("the end is missing") { changes.resize(4), damaged = 0; }
  SUBCASE("of a node that does not exist") { changes[4] = 3; }
  SUBCASE("at a site that does not exist") { changes[5] = 4, damaged = 2; }
  SUBCASE("one node twice") { changes[4] = 1; }
  AreaBuilder area = changed_graph(graph, changes);
  const auto record = read(area);
  CHECK(record.damaged == damaged);
  REQUIRE(record.operations.size() == 2);
  CHECK(record.operations[1].graph == 1);
  CHECK(record.operations[1].graph_flags == wire::operation::kGraphUntold);
  CHECK(session::changed_at(record, record.operations[1], 1) == 2);
}

TEST_CASE("a graph whose original was not described is not a changed one") {
  for (const std::uint32_t before : {2u, 3u}) {  // graph 2 itself, and then a later graph
    AreaBuilder area = changed_graph({1, 2, 0, before}, {2, 0, 1, 2, 2, 3});
    const auto record = read(area);
    CHECK(record.damaged == 1);
    REQUIRE(record.operations.size() == 2);
    CHECK((record.operations[1].graph == 2 && record.operations[1].graph_changed == 0));
    CHECK_FALSE(record.graphs[1].whole);
  }
}

TEST_CASE("pieces of graphs that do not fit are ignored and counted") {
  AreaBuilder area;
  using wire::intern::Tag;
  area.entry(Tag::graph, 0, {0, 2, 1, 0});
  area.entry(Tag::graph_nodes, 1, {1, 1, 0, 0, 0, 0, 0, 0, 0, 0});  // a node that is not the next one
  area.entry(Tag::graph_nodes, 1, {9, 0, 0, 0, 0, 0, 0, 0, 0, 0});  // a node of an unknown graph
  area.entry(Tag::graph_nodes, 1, {1, 0, 0, 0, 0, 0, 0, 0, 0, 1});  // a node that is its own parent
  area.entry(Tag::graph_edges, 1, {1, 0, 0, 7});                    // an edge to a missing node
  area.entry(Tag::graph_edges, 9, {1, 0, 0, 0});                    // the count says 9 edges, but there is one
  const auto record = read(area);
  CHECK(record.damaged == 5);
  REQUIRE(record.graphs.size() == 1);
  CHECK_FALSE(record.graphs[0].whole);
  CHECK(record.graphs[0].nodes.size() == 1);
  CHECK(record.graphs[0].edges.empty());
}

TEST_CASE("errors are sorted by serial, and the freeze finds its own") {
  AreaBuilder area;
  for (const std::uint32_t slot : {0u, 2u}) {
    wire::store(area.error(slot), wire::error::kDomain, 1);
    wire::store(area.error(slot), wire::error::kCode, 700 + slot);
    wire::store(area.error(slot), wire::error::kSerial, 9 - slot);
  }
  wire::store(area.error(0), wire::error::kCallName, area.string("cuMemcpyDtoH_v2"));
  area.state(wire::area::State::frozen);
  wire::store(area.data(), wire::area::kFrozenError, 1);
  const auto record = read(area);
  REQUIRE(record.errors.size() == 2);
  CHECK(record.errors[0].serial == 7);
  CHECK(record.errors[0].code == 702);
  CHECK(record.frozen_error == 2);
  CHECK(record.errors[record.frozen_error - 1].call == "cuMemcpyDtoH");
}

TEST_CASE("a process that ended between recording a sticky error and the freeze failed at that call") {
  namespace e = wire::error;
  AreaBuilder area;
  area.state(wire::area::State::recording);
  wire::store(area.error(1), e::kDomain, 1);
  wire::store(area.error(1), e::kCode, 710);
  wire::store(area.error(1), e::kTicks, 77);
  wire::store(area.error(1), e::kSerial, 2);
  wire::store(area.error(0), e::kDomain, 1);
  wire::store(area.error(0), e::kSerial, 1);
  CHECK(read(area).state == wire::area::State::recording);
  wire::store(area.error(1), e::kFlags, e::kSticky);
  const auto record = read(area);
  CHECK(record.state == wire::area::State::frozen);
  CHECK(record.frozen_error == 2);
  CHECK(record.frozen_code == 710);
  CHECK(record.frozen_ticks == 77);
}

TEST_CASE("an error has its capture, and a site only if there is one") {
  namespace e = wire::error;
  AreaBuilder area;
  area.entry(wire::intern::Tag::site, 0, {0, 0, 0, 0});
  for (const std::uint32_t slot : {0u, 1u}) {
    wire::store(area.error(slot), e::kDomain, 1);
    wire::store(area.error(slot), e::kCaptureBegan, 5);
    wire::store(area.error(slot), e::kCaptureTid, 77);
    wire::store(area.error(slot), e::kCaptureMode, 2);
    wire::store(area.error(slot), e::kCaptureSite, 1 + slot);
    wire::store(area.error(slot), e::kStarted, 8);
    wire::store(area.error(slot), e::kSerial, 1 + slot);
  }
  const auto record = read(area);
  REQUIRE(record.errors.size() == 2);
  const session::Capture& capture = record.errors[0].capture;
  CHECK(capture.began == 5);
  CHECK(capture.tid == 77);
  CHECK(capture.mode == 2);
  CHECK(capture.site == 1);
  CHECK(record.errors[0].started == 8);
  CHECK(record.errors[1].capture.site == 0);
}

TEST_CASE("seconds are computed from the clock's two readings") {
  AreaBuilder area;
  wire::store(area.data(), wire::area::kClockTicks, 1000);
  wire::store(area.data(), wire::area::kClockNanoseconds, 5'000'000'000);
  CHECK(read(area).seconds(3000) == 0);
  wire::store(area.data(), wire::area::kClockTicksLast, 5000);
  wire::store(area.data(), wire::area::kClockNanosecondsLast, 7'000'000'000);
  CHECK(read(area).seconds(3000) == doctest::Approx(1.0));
}

TEST_CASE("an allocation and its end are read, and an invalid one is damage") {
  namespace w = wire::allocation;
  AreaBuilder area;
  area.entry(wire::intern::Tag::site, 0, {0, 0, 0, 10});
  std::byte* first = area.allocation(0, 0x7f0000000000, 4096);
  wire::store(first, w::kMade, 100);
  wire::store(first, w::kFreed, 200);
  wire::store(first, w::kSite, 1);
  wire::store(first, w::kFreedSite, 2);  // this site does not exist
  wire::store(first, w::kFlags, w::kWithContext);
  wire::store(first, w::kContext, 0);
  wire::store(first, w::kStream, 1);
  wire::store(first, w::kFreedStream, 7);  // this stream does not exist
  wire::store(area.allocation(1, 0x1000, 1), w::kKind, 99);
  area.allocation(2, ~std::uint64_t{0}, 2);
  wire::store(area.data(), wire::area::kDroppedAllocations, 3);
  wire::store(area.data(), wire::area::kForgottenAllocations, 4);
  const auto record = read(area);
  REQUIRE(record.allocations.size() == 1);
  const session::Allocation& allocation = record.allocations[0];
  CHECK((allocation.serial == 1 && allocation.address == 0x7f0000000000 && allocation.bytes == 4096));
  CHECK((allocation.made == 100 && allocation.freed == 200));
  CHECK((allocation.site == 1 && allocation.freed_site == 0));
  CHECK((allocation.kind == w::Kind::device && allocation.flags == w::kWithContext));
  CHECK((allocation.context == 0 && allocation.stream == 1 && allocation.freed_stream == w::kNone));
  CHECK((record.dropped_allocations == 3 && record.forgotten_allocations == 4));
  CHECK(record.damaged == 2);
}

TEST_CASE("a table that claims more entries than exist is damage, and the existing ones are read") {
  AreaBuilder area;
  for (std::size_t i = 0; i < 4; ++i) area.allocation(i, 4096 * (i + 1), 16);
  wire::store(area.data(), wire::area::kAllocationsUsed, 5);
  const auto record = read(area);
  CHECK(record.allocations.size() == 4);
  CHECK(record.damaged == 1);
}

TEST_CASE("the parameters of a launch are read, each padded to eight bytes") {
  AreaBuilder area;
  using namespace std::string_literals;
  area.entry(wire::intern::Tag::arguments, 2, {7, 0, 1, wire::intern::kCut, 0, 4, 8, 8},
             "\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\x80"s);
  area.entry(wire::intern::Tag::arguments, 1, {8, 0, 0, 0, 0, 9}, std::string(8, 'x'));  // one byte is missing
  const auto record = read(area);
  REQUIRE(record.arguments.size() == 1);
  const session::Arguments& arguments = record.arguments[0];
  CHECK((arguments.serial == 7 && arguments.thread == 1 && arguments.flags == wire::intern::kCut));
  REQUIRE(arguments.parameters.size() == 2);
  CHECK((arguments.parameters[0].offset == 0 && arguments.parameters[0].bytes == "\x01\0\0\0"s));
  CHECK((arguments.parameters[1].offset == 8 && arguments.parameters[1].bytes == "\x02\0\0\0\0\0\0\x80"s));
  CHECK(record.damaged == 1);
}

TEST_CASE("a launch of a graph with a pointer to freed memory is read") {
  AreaBuilder area;
  area.entry(wire::intern::Tag::stale_pointer, 0, {7, 0, 1, 2, 0x1010, 5, 4, 0, 16, wire::intern::kInStructure});
  area.entry(wire::intern::Tag::stale_pointer, 0, {7, 0, 1, 2, 0x1010, 5, 4, 0});  // truncated entry
  const auto record = read(area);
  REQUIRE(record.stale_pointers.size() == 1);
  const session::StalePointer& stale = record.stale_pointers[0];
  CHECK((stale.serial == 7 && stale.thread == 1 && stale.node == 2 && stale.offset == 16));
  CHECK((stale.address == 0x500001010 && stale.allocation == 4));
  CHECK(stale.in_structure);
  CHECK(record.damaged == 1);
}

TEST_CASE("a copy has its addresses, and a call that failed for lack of memory has the free memory") {
  AreaBuilder area;
  area.live_thread(0, 11, 1);
  area.live_stream(0);
  std::byte* copy = area.kernel(0, 1, 0, 10);
  wire::store(copy, wire::operation::kKind, static_cast<std::uint8_t>(wire::operation::Kind::copy));
  wire::store(copy, wire::operation::kBytes, 64);
  wire::store(copy, wire::operation::kBytesAbove, std::uint8_t{3});
  wire::store(copy, wire::operation::kDestination, 0x1000);
  wire::store(copy, wire::operation::kSource, 0x2000);
  wire::store(area.error(0), wire::error::kDomain, 1);
  wire::store(area.error(0), wire::error::kDeviceFree, 5);
  wire::store(area.error(0), wire::error::kDeviceTotal, 6);
  wire::store(area.error(0), wire::error::kSerial, 1);
  const auto record = read(area);
  REQUIRE(record.operations.size() == 1);
  const session::Operation& read_copy = record.operations[0];
  CHECK((read_copy.argument == 0x300000040 && read_copy.destination == 0x1000 && read_copy.source == 0x2000));
  REQUIRE(record.errors.size() == 1);
  CHECK((record.errors[0].device_free == 5 && record.errors[0].device_total == 6));
  CHECK(record.errors[0].pointer == 0);
  wire::store(area.error(0), wire::error::kCode, 1);
  wire::store(area.error(0), wire::error::kCallName, area.string("cuMemFree_v2"));
  CHECK(read(area).errors.at(0).pointer == 5);
  CHECK(read(area).errors.at(0).device_free == 0);
}

TEST_CASE("autograd's state at a launch is read, and a node's type only if there is one") {
  AreaBuilder area;
  area.live_thread(0, 4711, 2);
  area.entry(wire::intern::Tag::node_type, 0, {area.string("6Gather"), 0});
  for (const std::uint16_t type : {std::uint16_t{1}, std::uint16_t{2}}) {
    std::byte* record = area.kernel(0, type, wire::operation::kNoStream, type);
    wire::store(record, wire::operation::kNumber, 7u);
    wire::store(record, wire::operation::kNode, 5u);
    wire::store(record, wire::operation::kOwnThread, std::uint8_t{3});
    wire::store(record, wire::operation::kNodeThread, std::uint8_t{1});
    wire::store(record, wire::operation::kGraphTask, std::uint16_t{9});
    wire::store(record, wire::operation::kNodeType, type);
  }
  const auto record = read(area);
  REQUIRE(record.operations.size() == 2);
  const session::AutogradState& origin = record.operations[0].origin;
  CHECK(origin.number == 7);
  CHECK(origin.node == 5);
  CHECK(origin.thread == 3);
  CHECK(origin.node_thread == 1);
  CHECK(origin.graph_task == 9);
  CHECK(*session::by_id(record.node_types, origin.node_type) == "6Gather");
  CHECK(record.operations[1].origin.node_type == 0);
}

namespace {

// Makes thread 0 wait for stream 1 in a call that began at tick 50.
void block_thread(AreaBuilder& area) {
  namespace t = wire::thread;
  area.live_thread(0, 11, 0);
  const std::uint32_t call = area.string("cuStreamSynchronize");
  area.entry(wire::intern::Tag::site, 0, {0, 0, 0, 0});
  wire::store(area.thread(0), t::kCallDomain, 1u);
  wire::store(area.thread(0), t::kCallTicks, 50);
  wire::store(area.thread(0), t::kCallWait, static_cast<std::uint32_t>(t::Wait::stream));
  wire::store(area.thread(0), t::kCallStream, 1u);
  wire::store(area.thread(0), t::kCallName, call);
  wire::store(area.thread(0), t::kCallSite, 1u);
}

}  // namespace

TEST_CASE("the call that blocks a thread is read with what it waits for") {
  AreaBuilder area;
  block_thread(area);
  const auto blocked = read(area).threads[0].blocked;
  CHECK(blocked.site == 1);
  CHECK(blocked.wait == wire::thread::Wait::stream);
  CHECK(blocked.stream == 1);
  CHECK(blocked.call == "cuStreamSynchronize");
  CHECK(blocked.outer == "");
}

TEST_CASE("a call that refers to something that does not exist is damage, or waits for nothing") {
  AreaBuilder area;
  block_thread(area);
  wire::store(area.thread(0), wire::thread::kCallStream, 99u);
  wire::store(area.thread(0), wire::thread::kCallWait, 17u);
  auto record = read(area);
  CHECK(record.threads[0].blocked.stream == wire::operation::kNoStream);
  CHECK(record.threads[0].blocked.wait == wire::thread::Wait::none);
  CHECK(record.damaged == 1);
  wire::store(area.thread(0), wire::thread::kCallSite, 7u);
  CHECK(read(area).threads[0].blocked.site == 0);
}

TEST_CASE("the reader's clock replaces the last reading of a process that has not ended") {
  AreaBuilder area;
  wire::store(area.data(), wire::area::kClockTicks, 1000);
  wire::store(area.data(), wire::area::kClockNanoseconds, 5'000'000'000);
  const wire::ClockReading now{3000, 6'000'000'000};
  CHECK(read(area).seconds_per_tick == 0);
  auto record = session::read_area(area.bytes(), now).record;
  CHECK(record.seconds(2000) == doctest::Approx(0.5));
  CHECK(record.clock_last == 3000);
  area.state(wire::area::State::finished);
  wire::store(area.data(), wire::area::kClockTicksLast, 2000);
  wire::store(area.data(), wire::area::kClockNanosecondsLast, 6'000'000'000);
  record = session::read_area(area.bytes(), now).record;
  CHECK(record.clock_last == 2000);
  CHECK(record.seconds(2000) == doctest::Approx(1));
}
