#include "races/race_detector.h"

#include <doctest/doctest.h>

#include <cstring>
#include <random>

#include "unit/session/area_builder.h"
#include "wire/race_record.h"
#include "wire/tables.h"

namespace feed_test {

using namespace cudadiag;
using races::Detector;
using sass::LaunchWords;
using sass::LiveWords;
using sass::Mode;
namespace operation = wire::operation;
namespace race = wire::race;
using operation::Kind;

namespace {

constexpr std::uint64_t kBuffer = 0x7f0000000000, kExec = 0x91, kEvent = 0xe1;

// A process with two non-blocking streams and a buffer. It passes records to the detector as a ring would.
struct Process {
  Process() {
    for (std::size_t i = 0; i < 2; ++i) {
      area.live_stream(i);
      wire::store(area.stream(i), wire::stream::kHandle, 0x100 + i);
      wire::store(area.stream(i), wire::stream::kFlags, static_cast<std::uint32_t>(wire::stream::kNonBlocking));
    }
    area.live_stream(2);
    wire::store(area.stream(2), wire::stream::kHandle, std::uint64_t{1});
    wire::store(area.stream(2), wire::stream::kFlags, static_cast<std::uint32_t>(wire::stream::kLegacy));
    wire::store(area.stream(2), wire::stream::kContext, 1);
    for (std::uint32_t i = 0; i < 2; ++i) wire::store(area.context(i), wire::context::kUid, i + 1);
    made(kBuffer, 1 << 20);
  }

  static test::AreaShape shape() {
    test::AreaShape shape;
    shape.contexts = 2;
    shape.streams = 3;
    return shape;
  }

  std::byte* blank(Kind kind, std::uint32_t stream) {
    std::memset(bytes, 0, sizeof bytes);
    wire::store(bytes, operation::kKind, static_cast<std::uint8_t>(kind));
    wire::store(bytes, operation::kStream, static_cast<decltype(operation::kStream)::type>(stream));
    wire::store(bytes, operation::kTicks, ++ticks);
    return bytes;
  }
  void hand() { detector.record(bytes); }

  void stream(std::uint32_t index, std::uint64_t handle) {
    std::byte* record = blank(Kind::stream_made, index);
    wire::store(record, race::kWord0, handle);
    wire::store(record, race::kWord1, 1);
    wire::store(record, race::kWord2, std::uint64_t{wire::stream::kNonBlocking});
    hand();
  }
  // Replaces the stream in the table entry by one that was created later.
  void later_stream(std::uint32_t index) { wire::store(area.stream(index), wire::stream::kCreated, ticks + 1000); }
  void made(std::uint64_t address, std::uint64_t size, wire::allocation::Kind kind = wire::allocation::Kind::none,
            std::uint32_t stream = operation::kNoStream) {
    std::byte* record = blank(Kind::memory_made, stream);
    wire::store(record, race::kWord0, address);
    wire::store(record, race::kWord1, size);
    wire::store(record, race::kWord2, static_cast<std::uint64_t>(kind));
    hand();
  }
  void host_saw(race::Seen seen, std::uint64_t source, std::uint64_t destination) {
    std::byte* record = blank(Kind::host_saw_stream, 0);
    wire::store(record, race::kWord0, static_cast<std::uint64_t>(seen));
    wire::store(record, race::kWord1, source);
    wire::store(record, race::kWord2, destination);
    hand();
  }
  void parameter(std::uint64_t value, std::uint32_t function, std::uint16_t offset = 0, std::uint32_t zeros = 0) {
    std::byte* record = blank(Kind::parameters, operation::kNoStream);
    wire::store(record, operation::kSite, static_cast<decltype(operation::kSite)::type>(function));
    wire::store(record, race::kWord0, value);
    wire::store(record, race::kOffset0, offset);
    wire::store(record, race::kZeros, zeros);
    hand();
  }
  // Launches a kernel. Function 1 writes, function 4 has an unknown effect, and all others read. The call site has the
  // same number as the function.
  void kernel(std::uint32_t stream, std::uint32_t function, std::uint64_t address = kBuffer, std::uint8_t flags = 0,
              std::uint32_t zeros = 0) {
    parameter(address, function, 0, zeros);
    std::byte* record = blank(Kind::kernel, stream);
    wire::store(record, operation::kSite, static_cast<decltype(operation::kSite)::type>(function));
    wire::store(record, operation::kFlags, flags);
    hand();
  }
  void graph_node(std::uint32_t node, std::uint32_t function, bool in_child = false) {
    parameter(kBuffer, function);
    std::byte* record = blank(Kind::graph_node, operation::kNoStream);
    wire::store(record, operation::kSite, static_cast<decltype(operation::kSite)::type>(10 + node));
    wire::store(record, race::kNode, node);
    wire::store(record, race::kNodeType, in_child ? race::kInChild : 0);
    wire::store(record, race::kWord0, kExec);
    hand();
  }
  void graph_made(std::uint64_t nodes, std::uint64_t order = 0) {
    std::byte* record = blank(Kind::graph_made, operation::kNoStream);
    wire::store(record, race::kWord0, kExec);
    wire::store(record, race::kWord1, nodes);
    wire::store(record, race::kWord2, order);
    hand();
  }
  void event(Kind kind, std::uint32_t stream = operation::kNoStream) {
    wire::store(blank(kind, stream), kind == Kind::event_made ? race::kWord0 : operation::kArgument, kEvent);
    hand();
  }
  // Adds a graph node that waits for an event (CUgraphNodeType 6) or records an event (7).
  void event_node(std::uint32_t node, std::uint32_t type) {
    std::byte* record = blank(Kind::graph_node, operation::kNoStream);
    wire::store(record, race::kNode, node);
    wire::store(record, race::kNodeType, type);
    wire::store(record, race::kWord0, kExec);
    wire::store(record, race::kWord1, kEvent);
    hand();
  }
  void graph(bool edge) {
    graph_made(2);
    graph_node(0, 1), graph_node(1, 2);
    if (!edge) return;
    std::byte* record = blank(Kind::graph_edges, operation::kNoStream);
    wire::store(record, race::kWord0, kExec);
    wire::store(record, race::kWord1, 1 | std::uint64_t{2} << 32);
    hand();
  }
  void launch(std::uint32_t stream) {
    wire::store(blank(Kind::graph, stream), operation::kArgument, kExec);
    hand();
  }
  std::size_t races() const { return detector.races().size(); }

  test::AreaBuilder area{shape()};
  std::uint64_t ticks = 0;
  alignas(8) std::byte bytes[wire::area::kOperationSize];
  LaunchWords asked;  // the words of the latest launch whose mode the detector requested
  Detector detector{area.bytes(), [this](std::uint32_t function, std::uint32_t, const LaunchWords& words) {
                      asked = words;
                      return std::optional(function == 1 ? Mode::write : function == 4 ? Mode::unknown : Mode::read);
                    }};
};

}  // namespace

TEST_CASE("kernels on two streams race where they use the same memory") {
  Process p;
  p.kernel(0, 1), p.kernel(1, 2);
  REQUIRE(p.races() == 1);
  const session::Race race = p.detector.races().front();
  CHECK(race.first.mode == session::RaceMode::write);
  CHECK(race.second.mode == session::RaceMode::read);
  CHECK(race.second.stream == 0x101);
  CHECK((race.first.ticks == 3 && race.second.ticks == 5));
  CHECK(race.address == kBuffer);
  CHECK(race.bytes == 1 << 20);
}

TEST_CASE("words that point to none of the driver's memory are not addresses") {
  Process p;
  p.kernel(0, 1, kBuffer + (1 << 20)), p.kernel(1, 2, kBuffer + (1 << 20));
  CHECK(p.races() == 0);
}

TEST_CASE("captured operations do not run, and failed calls did not queue any") {
  for (const std::uint8_t flags : {std::uint8_t{operation::kCaptured}, std::uint8_t{0}}) {
    Process p;
    p.kernel(0, 1, kBuffer, flags), p.kernel(1, 2);
    CHECK(p.races() == (flags == 0 ? 1 : 0));
  }
  Process p;
  p.parameter(kBuffer, 1);
  std::byte* record = p.blank(Kind::kernel, 0);
  wire::store(record, operation::kFlags, std::uint8_t{operation::kReturned});
  wire::store(record, operation::kResult, 1);
  p.hand();
  p.kernel(1, 2);
  CHECK(p.races() == 0);
}

TEST_CASE("which words of a launch are addresses, and which of these are equal, is known") {
  Process p;
  p.kernel(0, 2);
  p.parameter(kBuffer + 64, 1, 8);
  p.parameter(kBuffer, 1, 16);
  p.parameter(kBuffer + 64, 1, 24);
  p.kernel(1, 1);
  CHECK(p.races() == 1);
  CHECK(p.asked.live == LiveWords{{8, 8}, {16, 16}, {24, 8}, {0, 16}});
  // With this many parameters, the recorder may have omitted some.
  p.kernel(0, 3);
  for (std::uint16_t each = 0; each < 40; ++each) p.parameter(kBuffer, 1, static_cast<std::uint16_t>(8 + 8 * each));
  p.kernel(1, 1);
  CHECK(p.asked.live.empty());
}

TEST_CASE("which parameters of a launch are 0 is known, even if it has a single address") {
  Process p;
  p.kernel(0, 2);
  p.kernel(1, 1, kBuffer, 0, 5);
  CHECK(p.races() == 1);
  CHECK(p.asked == LaunchWords{{}, 5});
}

TEST_CASE("an address above another one of the launch may be the end of what its kernel uses") {
  enum class Other { below, elsewhere, known_to_be_used };
  for (const Other other : {Other::below, Other::elsewhere, Other::known_to_be_used}) {
    for (const std::uint64_t from : {0u, 32u}) {
      Process p;
      p.made(kBuffer + (1 << 20), 1 << 20);
      const std::uint32_t function = other == Other::known_to_be_used ? 1 : 4;
      p.parameter(other == Other::elsewhere ? kBuffer + (1 << 20) : kBuffer, function);
      p.kernel(0, function, kBuffer + 64);
      std::byte* record = p.blank(Kind::memset, 1);
      wire::store(record, operation::kDestination, kBuffer + 64 - from);
      wire::store(record, operation::kBytes, 64);
      p.hand();
      REQUIRE(p.races() == 1);
      CHECK(p.detector.races().front().possible == (other == Other::below && from == 0));
    }
  }
}

TEST_CASE("nothing is concluded across a gap or inside it, but everything after it is") {
  Process p;
  p.kernel(0, 1);
  p.detector.lost(3, p.ticks + 10);
  p.kernel(1, 2);
  CHECK(p.races() == 0);
  p.kernel(0, 1), p.kernel(1, 2);
  CHECK(p.races() == 0);
  p.ticks += 10;
  // An allocation made while records were lost has no record here, but the table of allocations shows it.
  p.area.allocation(0, kBuffer, 1 << 20);
  p.kernel(1, 2);
  CHECK(p.races() == 0);
  p.kernel(0, 1);
  CHECK(p.races() == 1);
  CHECK(p.detector.counts().lost == 3);
  CHECK(p.detector.counts().gaps == 1);
}

TEST_CASE("a graph from before a gap, or from inside one, may have been replaced") {
  for (const bool inside : {false, true}) {
    Process p;
    if (!inside) p.graph(false);
    p.detector.lost(1, p.ticks + (inside ? 10 : 1));  // the lost record may be an edge of the graph
    if (inside) p.graph(false), p.ticks += 10;
    p.made(kBuffer, 1 << 20);
    p.launch(0);
    p.kernel(1, 2);
    CHECK(p.races() == 0);
    p.graph(false), p.launch(0);
    CHECK(p.races() > 0);
  }
}

TEST_CASE("parameters whose kernel's record is lost do not belong to the next kernel") {
  Process p;
  p.detector.lost(1, p.ticks + 2);
  p.parameter(kBuffer, 1);
  p.ticks += 5;
  p.made(kBuffer, 1 << 20);
  wire::store(p.blank(Kind::kernel, 0), operation::kSite, std::uint16_t{3});
  p.hand();
  p.kernel(1, 2);
  CHECK(p.races() == 0);
}

TEST_CASE("operations for which the recorder had no ring are a gap too") {
  Process p;
  races::Backlog backlog(p.area.bytes(), p.detector, [](std::uint32_t) { return true; });
  p.kernel(0, 1);
  wire::store(p.area.data(), wire::area::kDroppedOperations, 1);
  backlog.look_for_drops();
  p.kernel(1, 2);
  CHECK(p.races() == 0);
}

TEST_CASE("a later stream in the same table entry is a different stream") {
  Process p;
  p.kernel(0, 1);
  wire::store(p.area.stream(0), wire::stream::kCreated, p.ticks);
  p.kernel(0, 2);
  CHECK(p.races() == 1);
}

TEST_CASE("a record belongs to the stream that had the entry at that time, whichever has it now") {
  for (const bool told : {true, false}) {
    Process p;
    p.later_stream(1);
    if (told) p.stream(1, 0x200);
    p.kernel(0, 1), p.kernel(1, 2);
    REQUIRE(p.races() == (told ? 1 : 0));
    if (told) CHECK(p.detector.races().front().second.stream == 0x200);
    // Without information about the entry's earlier stream, the record cannot be assigned to any stream.
    CHECK(p.detector.counts().gaps == (told ? 0 : 1));
  }
}

TEST_CASE("a stream does not inherit the waits of an earlier stream in its table entry") {
  for (const bool again : {false, true}) {
    Process p;
    p.stream(1, 0x200);
    p.event(Kind::event_made);
    p.kernel(0, 1);
    p.event(Kind::event_record, 0), p.event(Kind::event_wait, 1);
    if (again) p.stream(1, 0x200);
    p.later_stream(1);
    p.kernel(1, 2);
    CHECK(p.races() == (again ? 1 : 0));
  }
}

TEST_CASE("after a gap, a stream may be a different one") {
  for (const bool later : {false, true}) {
    Process p;
    p.stream(1, 0x200);
    wire::store(p.area.stream(1), wire::stream::kCreated, p.ticks);
    p.detector.lost(1, p.ticks + 1);
    if (later) p.later_stream(1);
    p.made(kBuffer, 1 << 20);
    p.kernel(0, 1), p.kernel(1, 2);
    CHECK(p.races() == (later ? 0 : 1));
    CHECK(p.detector.counts().gaps == (later ? 2 : 1));
  }
}

TEST_CASE("a graph's nodes race with other streams, and with each other if they are unordered") {
  for (const bool edge : {false, true}) {
    Process p;
    p.graph(edge);
    p.launch(0);
    CHECK(p.races() == (edge ? 0 : 1));
    p.launch(0);
    CHECK(p.races() == (edge ? 0 : 1));
    p.kernel(1, 2);
    CHECK(p.races() == (edge ? 1 : 2));
  }
}

TEST_CASE("a graph's own nodes are compared although it has a child graph, whose nodes are not") {
  for (const bool all_in_child : {false, true}) {
    Process p;
    p.graph_made(3);
    p.graph_node(0, 1, all_in_child), p.graph_node(1, 2, all_in_child), p.graph_node(2, 1, true);
    p.launch(0);
    CHECK(p.races() == (all_in_child ? 0 : 1));
    p.kernel(1, 2);
    CHECK(p.races() > (all_in_child ? 0 : 1));
  }
}

TEST_CASE("graphs that no program could have created are forgotten and do not use memory forever") {
  Process p;
  p.graph(false);
  for (std::uint64_t other = 1; other <= 600; ++other) {
    std::byte* record = p.blank(Kind::graph_made, operation::kNoStream);
    wire::store(record, race::kWord0, kExec + other);
    wire::store(record, race::kWord1, ~std::uint64_t{0});
    p.hand();
  }
  p.launch(0);
  CHECK(p.races() == 0);
  p.graph(false), p.launch(0);
  CHECK(p.races() == 1);
}

TEST_CASE("it is unknown what a changed graph does") {
  Process p;
  p.graph(false);
  p.graph_made(0);
  p.launch(0);
  p.kernel(1, 2);
  CHECK(p.races() == 0);
}

TEST_CASE("a destroyed graph does nothing more, and another graph may reuse its handle") {
  for (const bool gone : {false, true}) {
    Process p;
    p.graph(true);
    p.launch(0);
    if (gone) p.graph_made(0, race::kGone);
    p.graph(true);
    p.launch(1);
    CHECK((p.races() > 0) == gone);
  }
}

TEST_CASE("order through a graph's waits and signals that no call shows is uncertain") {
  constexpr std::uint64_t kNeither = 0;
  for (const std::uint64_t order : {kNeither, std::uint64_t{race::kTells}, std::uint64_t{race::kWaits}}) {
    for (const bool first : {true, false}) {
      Process p;
      p.graph_made(1, order);
      p.graph_node(0, 1);
      if (first) p.launch(0);
      p.kernel(1, 2);
      if (!first) p.launch(0);
      REQUIRE(p.races() == 1);
      CHECK(p.detector.races().front().possible == (order == race::kWaits || (order == race::kTells && first)));
    }
  }
}

TEST_CASE("a changed graph orders as before, and an unknown one may do anything") {
  enum class Known { not_at_all, once, as_harmless };
  for (const Known known : {Known::not_at_all, Known::once, Known::as_harmless}) {
    Process p;
    if (known != Known::not_at_all)
      p.graph_made(1, known == Known::once ? std::uint64_t{race::kTells} : 0), p.graph_made(0);
    p.kernel(0, 1);
    p.launch(0);
    p.kernel(1, 2);
    REQUIRE(p.races() == 1);
    CHECK(p.detector.races().front().possible == (known != Known::as_harmless));
  }
}

TEST_CASE("a graph that was forgotten and then changed may do anything") {
  Process p;
  p.graph_made(1, 0);
  p.detector.lost(1, p.ticks + 1);
  p.ticks += 5;
  p.graph_made(0);
  p.made(kBuffer, 1 << 20);
  p.kernel(0, 1);
  p.launch(0);
  p.kernel(1, 2);
  REQUIRE(p.races() == 1);
  CHECK(p.detector.races().front().possible);
}

TEST_CASE("events that a graph's nodes record and wait for count like any others") {
  for (const std::uint32_t type : {6u, 7u}) {
    for (const bool waited : {false, true}) {
      Process p;
      p.event(Kind::event_made);
      p.graph_made(2, type == 6 ? race::kWaits : race::kTells);
      p.graph_node(0, 1), p.event_node(1, type);
      if (type == 6) {
        p.kernel(0, 2);
        if (waited) p.event(Kind::event_record, 0);
        p.launch(1);
      } else {
        p.launch(0);
        if (waited) p.event(Kind::event_wait, 1);
        p.kernel(1, 2);
      }
      CHECK(p.races() == (waited ? 0 : 1));
    }
  }
}

TEST_CASE("order by an untracked call, or by a wait for a destroyed event, is uncertain") {
  for (const bool met : {false, true}) {
    Process p;
    p.kernel(0, 1);
    if (met) p.blank(Kind::stranger_met, operation::kNoStream), p.hand();
    p.kernel(1, 2);
    REQUIRE(p.races() == 1);
    CHECK(p.detector.races().front().possible == met);
  }
  for (const bool gone : {false, true}) {
    Process p;
    p.event(Kind::event_made);
    wire::store(p.blank(Kind::event_made, operation::kNoStream), race::kWord0, kEvent);
    wire::store(p.bytes, race::kWord1, std::uint64_t{gone});
    p.hand();
    p.kernel(0, 1);
    p.event(Kind::event_wait, 1);
    p.kernel(1, 2);
    REQUIRE(p.races() == 1);
    CHECK(p.detector.races().front().possible == gone);
  }
}

TEST_CASE("an asynchronous copy to unknown memory has finished if the call says so") {
  enum class Says { nothing, to_the_host, to_known_memory };
  for (const Says says : {Says::nothing, Says::to_the_host, Says::to_known_memory}) {
    Process p;
    p.kernel(0, 1);
    const std::uint64_t to = says == Says::to_known_memory ? kBuffer + 64 : 0x7e0000000000;
    std::byte* record = p.blank(Kind::copy, 0);
    wire::store(record, operation::kDestination, to);
    wire::store(record, operation::kSource, std::uint64_t{0x55550000});
    wire::store(record, operation::kBytes, 4);
    p.hand();
    if (says != Says::nothing) p.host_saw(race::kIfOnHost, 0, to);
    p.kernel(1, 2);
    CHECK(p.races() == (says == Says::to_the_host ? 0 : 1));
  }
}

TEST_CASE("a copy or memset call blocks unless everything it uses is device memory") {
  using Memory = wire::allocation::Kind;
  constexpr std::uint64_t kThere = kBuffer + (1 << 20);
  for (const auto& [from, to] : {std::pair{Memory::device, Memory::device}, std::pair{Memory::ordered, Memory::device},
                                 std::pair{Memory::pinned, Memory::device}, std::pair{Memory::device, Memory::pinned},
                                 std::pair{Memory::device, Memory::none}}) {
    Process p;
    p.made(kBuffer, 1 << 20, from);
    if (to != Memory::none) p.made(kThere, 1 << 20, to);
    p.kernel(0, 1);
    p.host_saw(race::kUnlessOnDevices, kBuffer, kThere);
    p.kernel(1, 2);
    const bool on_devices = from != Memory::pinned && to == Memory::device;
    CHECK(p.races() == (on_devices ? 1 : 0));
  }
}

TEST_CASE("a copy from host memory to host memory blocks, whatever the call's name") {
  using Memory = wire::allocation::Kind;
  constexpr std::uint64_t kThere = kBuffer + (1 << 20);
  for (const auto& [from, to, waits] :
       {std::tuple{Memory::pinned, Memory::pinned, true}, std::tuple{Memory::none, Memory::registered, true},
        std::tuple{Memory::device, Memory::pinned, false}, std::tuple{Memory::pinned, Memory::device, false},
        std::tuple{Memory::pinned, Memory::managed, false}, std::tuple{Memory::managed, Memory::pinned, false}}) {
    Process p;
    const std::uint64_t source = from == Memory::none ? 0x55550000 : kBuffer;
    if (from != Memory::none) p.made(kBuffer, 1 << 20, from);
    p.made(kThere, 1 << 20, to);
    p.kernel(0, 1);
    p.host_saw(race::kIfOnHost, source, kThere);
    p.kernel(1, 2);
    CHECK(p.races() == (waits ? 0 : 1));
  }
}

TEST_CASE("freeing memory waits for everything, unless it is ordered in a stream") {
  constexpr std::uint64_t kOther = kBuffer + (1 << 20);
  for (const bool ordered : {false, true}) {
    Process p;
    ordered ? p.made(kOther, 64, wire::allocation::Kind::ordered, 0)
            : p.made(kOther, 64, wire::allocation::Kind::device);
    p.kernel(0, 1);
    std::byte* record = p.blank(Kind::memory_freed, operation::kNoStream);
    wire::store(record, race::kWord0, kOther);
    wire::store(record, race::kWord2, std::uint64_t{1});
    p.hand();
    p.kernel(1, 2);
    CHECK(p.races() == (ordered ? 1 : 0));
  }
}

TEST_CASE("a copy between two devices in a default stream waits for both, and both wait for it") {
  constexpr std::uint64_t kThere = kBuffer + (1 << 20);
  enum class Copy { none, in_a_default_stream, in_another_stream, on_one_device };
  for (const Copy copy : {Copy::none, Copy::in_a_default_stream, Copy::in_another_stream, Copy::on_one_device}) {
    Process p;
    const auto made = [&](std::uint64_t address, std::uint64_t context) {
      std::byte* record = p.blank(Kind::memory_made, operation::kNoStream);
      wire::store(record, race::kWord0, address);
      wire::store(record, race::kWord1, std::uint64_t{1} << 20);
      wire::store(record, race::kWord2, static_cast<std::uint64_t>(wire::allocation::Kind::device));
      wire::store(record, race::kWord3, context);
      p.hand();
    };
    made(kBuffer, 0), made(kThere, copy == Copy::on_one_device ? 0 : 1);
    p.kernel(0, 1), p.kernel(1, 3, kThere);
    if (copy != Copy::none) {
      std::byte* record = p.blank(Kind::copy, copy == Copy::in_another_stream ? 0 : 2);
      wire::store(record, operation::kSource, kBuffer);
      wire::store(record, operation::kDestination, kThere);
      wire::store(record, operation::kBytes, 64);
      p.hand();
    }
    p.kernel(0, 1, kThere), p.kernel(1, 1);
    CHECK((p.races() == 0) == (copy == Copy::in_a_default_stream));
  }
}

TEST_CASE("invalid records are harmless") {
  std::mt19937_64 random(5);
  Process p;
  for (int i = 0; i < 200000; ++i) {
    for (std::byte& byte : p.bytes) byte = static_cast<std::byte>(random() % 4 == 0 ? random() : 0);
    wire::store(p.bytes, operation::kKind, static_cast<std::uint8_t>(random() % 24));
    if (random() % 2 == 0) wire::store(p.bytes, race::kWord0, kBuffer + random() % 64);
    wire::store(p.bytes, operation::kTicks, random() % 1000);
    p.hand();
  }
  CHECK(p.detector.races().size() <= races::History::kMostRaces);
}

}  // namespace feed_test
