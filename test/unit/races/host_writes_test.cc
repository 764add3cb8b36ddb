// Tests changes to the source of a copy, and which of them only the host can have made.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>

#include "races/race_detector.h"
#include "unit/session/area_builder.h"
#include "wire/race_record.h"
#include "wire/tables.h"

namespace host_writes_test {

using namespace cudadiag;
using races::Detector;
using sass::Mode;
namespace operation = wire::operation;
namespace race = wire::race;
using operation::Kind;

namespace {

constexpr std::uint64_t kHost = 0x7f0000000000, kDevice = 0x7f1000000000, kExec = 0x91;
constexpr std::uint32_t kCopySite = 7, kReplaySite = 99, kWriter = 1, kReader = 2, kUnknown = 3;

// Returns the code of a kernel that writes only through its parameters.
races::Codes known_code() {
  std::ifstream text(TEST_DATA "/sass/part.sm90.txt");
  const std::string all(std::istreambuf_iterator<char>(text), {});
  REQUIRE_FALSE(all.empty());
  return {std::make_shared<const sass::ByteRanges>(all, sass::ParameterBank{0x210, 64})};
}

// A process with two non-blocking streams, a pinned buffer and a device buffer. It passes records to the detector as a
// ring would.
struct Process {
  Process() {
    for (std::size_t i = 0; i < 2; ++i) {
      area.live_stream(i);
      wire::store(area.stream(i), wire::stream::kHandle, 0x100 + i);
      wire::store(area.stream(i), wire::stream::kFlags, static_cast<std::uint32_t>(wire::stream::kNonBlocking));
    }
    wire::store(area.context(0), wire::context::kUid, 1);
    made(kHost, wire::allocation::Kind::pinned), made(kDevice, wire::allocation::Kind::device);
  }

  static test::AreaShape shape() {
    test::AreaShape shape;
    shape.contexts = 1;
    shape.streams = 2;
    return shape;
  }

  std::byte* blank(Kind kind, std::uint32_t stream = operation::kNoStream) {
    std::memset(bytes, 0, sizeof bytes);
    wire::store(bytes, operation::kKind, static_cast<std::uint8_t>(kind));
    wire::store(bytes, operation::kStream, static_cast<decltype(operation::kStream)::type>(stream));
    wire::store(bytes, operation::kTicks, ++ticks);
    return bytes;
  }
  void hand() { detector.record(bytes); }

  void made(std::uint64_t address, wire::allocation::Kind kind) {
    std::byte* record = blank(Kind::memory_made);
    wire::store(record, race::kWord0, address);
    wire::store(record, race::kWord1, std::uint64_t{1 << 20});
    wire::store(record, race::kWord2, static_cast<std::uint64_t>(kind));
    hand();
  }
  void copy(std::uint32_t stream, std::uint64_t to, std::uint64_t from, std::uint32_t count = 4096) {
    std::byte* record = blank(Kind::copy, stream);
    wire::store(record, operation::kSite, static_cast<decltype(operation::kSite)::type>(kCopySite));
    wire::store(record, operation::kDestination, to);
    wire::store(record, operation::kSource, from);
    wire::store(record, operation::kBytes, count);
    hand();
  }
  void watched_copy(std::uint64_t number = 1) {
    wire::store(blank(Kind::source_watched), race::kWord0, number);
    hand();
    copy(0, kDevice, kHost);
  }
  void changed(std::uint16_t how = 0, std::uint64_t number = 1, std::uint16_t after = 0, std::uint16_t before = 0) {
    std::byte* record = blank(Kind::source_changed);
    wire::store(record, race::kWord0, number);
    wire::store(record, race::kWord1, kHost + 16);
    wire::store(record, race::kWord2, kHost + 80);
    wire::store(record, race::kWord3, std::uint64_t{60});
    wire::store(record, race::kOffset0, how);
    wire::store(record, race::kOffset1, after);
    wire::store(record, race::kOffset2, before);
    hand();
  }
  void kernel(std::uint32_t stream, std::uint32_t function, std::uint64_t address) {
    std::byte* record = blank(Kind::parameters);
    wire::store(record, operation::kSite, static_cast<decltype(operation::kSite)::type>(function));
    wire::store(record, race::kWord0, address);
    hand();
    blank(Kind::kernel, stream);
    hand();
  }
  struct Node {
    std::uint32_t type, index;
    std::uint64_t to, from;
  };
  void graph_node(const Node& node) {
    std::byte* record = blank(Kind::graph_node);
    wire::store(record, operation::kSite, static_cast<decltype(operation::kSite)::type>(kCopySite + node.index));
    wire::store(record, race::kNode, node.index);
    wire::store(record, race::kNodeType, node.type);
    wire::store(record, race::kWord0, kExec);
    wire::store(record, race::kWord1, node.to);
    wire::store(record, race::kWord2, node.from);
    wire::store(record, race::kWord3, std::uint64_t{40});
    hand();
  }
  void watched_graph(const std::vector<Node>& nodes, std::uint64_t order = 0) {
    std::byte* record = blank(Kind::graph_made);
    wire::store(record, race::kWord0, kExec);
    wire::store(record, race::kWord1, std::uint64_t{nodes.size()});
    wire::store(record, race::kWord2, order);
    hand();
    for (const Node& node : nodes) graph_node(node);
    replay();
  }
  void replay() {
    wire::store(blank(Kind::source_watched), race::kWord0, std::uint64_t{1});
    hand();
    wire::store(blank(Kind::graph, 0), operation::kArgument, kExec);
    wire::store(bytes, operation::kSite, static_cast<decltype(operation::kSite)::type>(kReplaySite));
    hand();
  }
  void order(Kind kind, std::uint32_t stream) {
    blank(kind, stream);
    hand();
  }
  void event(Kind kind, std::uint32_t stream) {
    wire::store(blank(kind, stream), operation::kArgument, std::uint64_t{0xe1});
    hand();
  }
  void host_waits(std::uint32_t stream) {
    wire::store(blank(Kind::host_saw_stream, stream), race::kWord0, static_cast<std::uint64_t>(race::kAnyway));
    hand();
  }
  // Returns the number of races that involve a write by the host.
  std::size_t found() const {
    const auto races = detector.races();
    return static_cast<std::size_t>(
        std::count_if(races.begin(), races.end(), [](const session::Race& each) { return each.second.on_host; }));
  }

  test::AreaBuilder area{shape()};
  std::uint64_t ticks = 0;
  alignas(8) std::byte bytes[wire::area::kOperationSize];
  Detector detector{
      area.bytes(),
      [](std::uint32_t function, std::uint32_t, const sass::LaunchWords&) {
        return std::optional(function == kWriter ? Mode::write : Mode::read);
      },
      [code = known_code()](std::uint32_t function) { return function == kUnknown ? races::Codes() : code; }};
};

}  // namespace

TEST_CASE("a changed source is a write by the host") {
  for (const std::uint16_t how : {std::uint16_t{0}, std::uint16_t{race::kWhileHeld | race::kSampled}}) {
    Process p;
    p.watched_copy();
    CHECK_FALSE(p.detector.found_any());
    p.changed(how);
    REQUIRE(p.found() == 1);
    CHECK(p.detector.found_any());
    const session::Race race = p.detector.races().front();
    CHECK(race.first.site == kCopySite);
    CHECK((race.first.begin == kHost && race.first.end == kHost + 4096));
    CHECK((race.second.begin == kHost + 16 && race.second.end == kHost + 80));
    CHECK((race.changed == 60 && race.sampled == (how != 0) && race.second.exact == (how != 0)));
    CHECK(race.address == kHost);
  }
}

TEST_CASE("each call site is listed once, with its most certain change") {
  Process p;
  for (std::uint64_t number = 1; number < 4; ++number) p.watched_copy(number);
  p.changed(0, 1), p.changed(race::kWhileHeld, 3), p.changed(0, 2);
  REQUIRE(p.found() == 1);
  CHECK(p.detector.races().front().times == 3);
  CHECK(p.detector.races().front().second.exact);
}

TEST_CASE("of several changes, the calls around one that the issuing thread made are kept") {
  struct Calls {
    std::uint16_t unchanged, changed;
    bool others;
  };
  struct {
    std::vector<Calls> seen;
    Calls known;
  } const cases[] = {{{{3, 4, true}}, {3, 4, true}},
                     {{{0, 0, true}, {3, 4, true}}, {3, 4, true}},
                     {{{3, 4, true}, {0, 0, true}}, {3, 4, true}},
                     {{{3, 4, true}, {3, 5, true}}, {3, 4, true}},
                     {{{3, 4, true}, {3, 5, false}, {3, 6, false}}, {3, 5, false}}};
  for (const auto& each : cases) {
    Process p;
    for (const Calls& calls : each.seen) {
      p.watched_copy();
      p.changed(calls.others ? race::kOthersRan : 0, 1, calls.unchanged, calls.changed);
    }
    REQUIRE(p.found() == 1);
    const session::Race race = p.detector.races().front();
    CHECK((race.unchanged_at == each.known.unchanged && race.changed_at == each.known.changed));
    CHECK(race.others_ran == each.known.others);
  }
}

TEST_CASE("a change of an unwatched copy, or one reported twice, says nothing") {
  Process p;
  p.changed();
  p.watched_copy();
  p.changed(0, 2);
  CHECK(p.found() == 0);
  p.changed(), p.changed();
  CHECK(p.detector.races().front().times == 1);
}

TEST_CASE("earlier work that is ordered before the copy explains a change, unless it had finished") {
  enum class Earlier {
    copy_to_it,
    copy_beside_it,
    writer,
    reader,
    reader_elsewhere,
    unknown_elsewhere,
    host_function,
    wait_for_word,
    write_word,
    other_stream
  };
  for (const Earlier earlier : {Earlier::copy_to_it, Earlier::copy_beside_it, Earlier::writer, Earlier::reader,
                                Earlier::reader_elsewhere, Earlier::unknown_elsewhere, Earlier::host_function,
                                Earlier::wait_for_word, Earlier::write_word, Earlier::other_stream}) {
    for (const bool finished : {false, true}) {
      for (const bool held : {false, true}) {
        Process p;
        const std::uint32_t stream = earlier == Earlier::other_stream ? 1 : 0;
        if (earlier == Earlier::copy_to_it || earlier == Earlier::other_stream) p.copy(stream, kHost + 64, kDevice);
        if (earlier == Earlier::copy_beside_it) p.copy(0, kHost + 4096, kDevice);
        if (earlier == Earlier::writer) p.kernel(0, kWriter, kHost + 8192);
        if (earlier == Earlier::reader) p.kernel(0, kReader, kHost);
        if (earlier == Earlier::reader_elsewhere) p.kernel(0, kReader, kDevice + 8192);
        if (earlier == Earlier::unknown_elsewhere) p.kernel(0, kUnknown, kDevice + 8192);
        if (earlier == Earlier::host_function) p.order(Kind::host_function, 0);
        if (earlier == Earlier::wait_for_word) {
          wire::store(p.blank(Kind::memory_operation, 0), operation::kMemoryOperation,
                      static_cast<std::uint8_t>(operation::MemoryOperation::wait_equal));
          p.hand();
        }
        if (earlier == Earlier::write_word) {
          wire::store(p.blank(Kind::memory_operation, 0), operation::kMemoryOperation,
                      static_cast<std::uint8_t>(operation::MemoryOperation::write));
          p.hand();
        }
        if (earlier == Earlier::other_stream) p.event(Kind::event_record, 1), p.event(Kind::event_wait, 0);
        if (finished) p.host_waits(stream);
        p.watched_copy();
        p.changed(held ? race::kWhileHeld : 0);
        CAPTURE(static_cast<int>(earlier));
        CAPTURE(finished);
        CAPTURE(held);
        const bool explains = earlier != Earlier::copy_beside_it && earlier != Earlier::reader_elsewhere;
        CHECK(p.found() == (finished || held || !explains ? 1 : 0));
      }
    }
  }
}

TEST_CASE("an unordered operation that writes the source is itself a race, and explains the change") {
  for (const bool before : {true, false}) {
    for (const bool beside : {false, true}) {
      Process p;
      const std::uint64_t to = beside ? kHost + 4096 : kHost;
      if (before) p.copy(1, to, kDevice + 8192);
      p.watched_copy();
      if (!before) p.copy(1, to, kDevice + 8192);
      p.changed(race::kWhileHeld);
      CHECK(p.found() == (beside ? 1 : 0));
      CHECK(p.detector.races().size() == 1);
    }
  }
}

TEST_CASE("an unordered kernel with unknown code may have written the source, but not if it had finished") {
  for (const std::uint32_t function : {kReader, kUnknown}) {
    for (const bool before : {false, true}) {
      for (const bool finished : {false, true}) {
        Process p;
        if (before) p.kernel(1, function, kDevice + 8192);
        if (before && finished) p.host_waits(1);
        p.watched_copy();
        if (!before) p.kernel(1, function, kDevice + 8192);
        p.changed(race::kWhileHeld);
        CAPTURE(function);
        CAPTURE(before);
        CHECK(p.found() == (function == kReader || (before && finished) ? 1 : 0));
      }
    }
  }
}

TEST_CASE("an operation that is ordered after the copy explains nothing") {
  Process p;
  p.watched_copy();
  p.copy(0, kHost, kDevice);
  p.kernel(0, kUnknown, kDevice + 8192);
  p.changed();
  CHECK(p.found() == 1);
}

TEST_CASE("a graph with a host function, or an unknown graph, explains a change") {
  for (const bool known : {false, true}) {
    Process p;
    if (known) {
      std::byte* record = p.blank(Kind::graph_made);
      wire::store(record, race::kWord0, kExec);
      wire::store(record, race::kWord1, std::uint64_t{1});
      p.hand();
    }
    wire::store(p.blank(Kind::graph, 0), operation::kArgument, kExec);
    p.hand();
    p.watched_copy();
    p.changed();
    CHECK(p.found() == (known ? 1 : 0));
  }
}

constexpr std::uint32_t kCopyNode = 1, kMemsetNode = 2;

TEST_CASE("a change belongs to the copy in the graph that reads these bytes") {
  Process p;
  p.watched_graph({{kCopyNode, 0, kDevice, kHost + 4096}, {kCopyNode, 1, kDevice + 64, kHost}});
  p.changed();
  REQUIRE(p.found() == 1);
  const session::Race race = p.detector.races().front();
  CHECK((race.first.site == kCopySite + 1 && race.first.node == 2 && race.launched == kReplaySite));
  CHECK((race.first.begin == kHost && race.first.end == kHost + 40));
  CHECK((race.second.begin == kHost + 16 && race.second.end == kHost + 40 && race.changed == 24));
}

TEST_CASE("a node with new parameters reads only the new memory") {
  for (const bool moved_away : {true, false}) {
    Process p;
    p.watched_graph({{kCopyNode, 0, kDevice, kHost}, {kMemsetNode, 1, kDevice + 64, 0}});
    p.graph_node({kCopyNode, 0, kDevice, moved_away ? kHost + 4096 : kHost + 8});
    p.replay();
    p.changed();
    CHECK(p.found() == 1);  // of the first replay
    p.changed();
    CHECK(p.detector.races().front().times == (moved_away ? 1 : 2));
  }
}

TEST_CASE("a change under a running graph says nothing if the graph can make it, or can tell the host to make it") {
  using Nodes = std::vector<Process::Node>;
  const Process::Node copy{kCopyNode, 0, kDevice, kHost}, memset{kMemsetNode, 1, kDevice + 64, 0};
  const Process::Node to_host{kCopyNode, 1, kHost + 4096, kDevice + 64};
  for (const bool after_begin : {false, true}) {
    const auto found = [&](const Nodes& nodes, std::uint64_t order) {
      Process p;
      p.watched_graph(nodes, order);
      p.changed(after_begin ? race::kAfterBegin : 0);
      return p.found();
    };
    CHECK(found({copy, memset}, 0) == 1);
    CHECK(found({copy, memset}, race::kTells) == (after_begin ? 0 : 1));
    CHECK(found({copy, to_host}, 0) == (after_begin ? 0 : 1));
  }
}

TEST_CASE("the host may fill the source of a copy for which the graph first waits for the host") {
  for (const bool waits : {false, true}) {
    for (const bool copy_first : {false, true}) {
      Process p;
      std::byte* record = p.blank(Kind::graph_made);
      wire::store(record, race::kWord0, kExec);
      wire::store(record, race::kWord1, std::uint64_t{2});
      p.hand();
      record = p.blank(Kind::parameters);
      wire::store(record, operation::kSite, static_cast<decltype(operation::kSite)::type>(kReader));
      wire::store(record, race::kWord0, waits ? kHost + 8192 : kDevice + 8192);
      p.hand();
      p.graph_node({0, 0, 0, 0});
      p.graph_node({kCopyNode, 1, kDevice, kHost});
      record = p.blank(Kind::graph_edges);
      wire::store(record, race::kWord0, kExec);
      wire::store(record, race::kWord1, copy_first ? 2 | std::uint64_t{1} << 32 : 1 | std::uint64_t{2} << 32);
      p.hand();
      p.replay();
      p.changed();
      CAPTURE(waits);
      CAPTURE(copy_first);
      CHECK(p.found() == (waits && !copy_first ? 0 : 1));
    }
  }
}

TEST_CASE("no host write is concluded across a gap") {
  Process p;
  p.watched_copy();
  p.detector.lost(1, p.ticks + 1);
  p.made(kHost, wire::allocation::Kind::pinned);
  p.changed();
  CHECK(p.found() == 0);
}

TEST_CASE("a change without bytes is dropped") {
  for (const std::uint64_t end : {kHost, kHost - 1}) {
    Process p;
    p.watched_copy();
    std::byte* record = p.blank(Kind::source_changed);
    wire::store(record, race::kWord0, std::uint64_t{1});
    wire::store(record, race::kWord1, kHost);
    wire::store(record, race::kWord2, end);
    wire::store(record, race::kWord3, std::uint64_t{5});
    p.hand();
    CHECK(p.found() == 0);
  }
}

}  // namespace host_writes_test
