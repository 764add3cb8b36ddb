// Tests kernels for which the accessed bytes are known. The kernel `part` of test/data/sass/ranges reads and writes
// elements of 4 bytes. Its parameters give the first element and the count.
#include <doctest/doctest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>

#include "races/race_detector.h"
#include "session/area_reader.h"
#include "unit/session/area_builder.h"
#include "wire/race_record.h"
#include "wire/tables.h"

namespace launch_bytes_test {

using namespace cudadiag;
using sass::Mode;
namespace operation = wire::operation;
namespace race = wire::race;
using operation::Kind;
using Memories = wire::allocation::Kind;

namespace {

constexpr std::uint64_t kBuffer = 0x7f0000000000;
constexpr std::uint32_t kBytes = 4096;

std::shared_ptr<const sass::ByteRanges> code_of(const std::string& kernel) {
  std::ifstream file(TEST_DATA "/sass/ranges/sm90.txt");
  const std::string all(std::istreambuf_iterator<char>(file), {}), mark = "// " + kernel + "\n";
  const std::size_t begin = all.find(mark);
  REQUIRE(begin != std::string::npos);
  const std::size_t end = all.find("// ", begin + mark.size());
  return std::make_shared<const sass::ByteRanges>(all.substr(begin, end - begin), sass::ParameterBank{0x210, 16});
}

// A process with two non-blocking streams and a buffer. Function 1 is the kernel `part`. Other functions have unknown
// code. All functions write.
struct Process {
  explicit Process(Memories kind = Memories::device) {
    for (std::size_t i = 0; i < 2; ++i) {
      area.live_stream(i);
      wire::store(area.stream(i), wire::stream::kHandle, 0x100 + i);
      wire::store(area.stream(i), wire::stream::kFlags, static_cast<std::uint32_t>(wire::stream::kNonBlocking));
    }
    made(kBuffer, kBytes, kind);
  }

  static test::AreaShape shape() {
    test::AreaShape shape;
    shape.streams = 2;
    return shape;
  }
  std::byte* blank(Kind kind, std::uint32_t stream) {
    std::memset(bytes, 0, sizeof bytes);
    wire::store(bytes, operation::kKind, static_cast<std::uint8_t>(kind));
    wire::store(bytes, operation::kStream, static_cast<decltype(operation::kStream)::type>(stream));
    wire::store(bytes, operation::kTicks, ++ticks);
    return bytes;
  }
  void made(std::uint64_t address, std::uint64_t size, Memories kind) {
    std::byte* record = blank(Kind::memory_made, operation::kNoStream);
    wire::store(record, race::kWord0, address);
    wire::store(record, race::kWord1, size);
    wire::store(record, race::kWord2, static_cast<std::uint64_t>(kind));
    detector.record(record);
  }
  void parameter(std::uint64_t address, std::uint32_t function) {
    std::byte* record = blank(Kind::parameters, operation::kNoStream);
    wire::store(record, operation::kSite, static_cast<decltype(operation::kSite)::type>(function));
    wire::store(record, race::kWord0, address);
  }
  std::byte* kernel_record(std::uint32_t stream, std::uint32_t function) {
    std::byte* record = blank(Kind::kernel, stream);
    wire::store(record, operation::kSite, static_cast<decltype(operation::kSite)::type>(function));
    wire::store(record, operation::kGridX, 100u);
    wire::store(record, operation::kGridY, std::uint16_t{1});
    wire::store(record, operation::kGridZ, std::uint16_t{1});
    wire::store(record, operation::kBlock, operation::Block::pack({256, 1, 1}));
    return record;
  }
  // Launches a kernel on `count` elements from `begin` on.
  void kernel(std::uint32_t stream, int begin, int count, std::uint64_t address = kBuffer, std::uint32_t function = 1) {
    parameter(address, function);
    detector.record(bytes);
    std::string parameters(16, '\0');
    std::memcpy(parameters.data(), &address, 8);
    std::memcpy(parameters.data() + 8, &begin, 4);
    std::memcpy(parameters.data() + 12, &count, 4);
    detector.record(kernel_record(stream, function), parameters);
  }
  void fill(std::uint32_t stream, std::uint64_t address, std::uint32_t size) {
    std::byte* record = blank(Kind::memset, stream);
    wire::store(record, operation::kSite, std::uint16_t{7});
    wire::store(record, operation::kDestination, address);
    wire::store(record, operation::kBytes, size);
    detector.record(record);
  }
  void part(std::uint64_t destination, std::uint64_t source, std::uint64_t size,
            race::SourceOrder order = race::kInStreamOrder) {
    std::byte* record = blank(Kind::graph_node, operation::kNoStream);
    wire::store(record, race::kWord1, destination);
    wire::store(record, race::kWord2, source);
    wire::store(record, race::kWord3, size);
    wire::store(record, race::kNodeType, std::uint32_t{order});
    detector.record(record);
  }
  void batch(std::uint32_t stream) {
    wire::store(blank(Kind::copy, stream), operation::kSite, std::uint16_t{8});
    detector.record(bytes);
  }
  std::size_t races() const { return detector.races().size(); }

  test::AreaBuilder area{shape()};
  std::uint64_t ticks = 0;
  alignas(8) std::byte bytes[wire::area::kOperationSize];
  races::Codes codes{code_of("part")};
  races::Detector detector{
      area.bytes(), [](std::uint32_t, std::uint32_t, const sass::LaunchWords&) { return std::optional(Mode::write); },
      [this](std::uint32_t function) { return function == 1 ? codes : races::Codes(); }};
};

}  // namespace

TEST_CASE("two halves of one buffer do not race") {
  Process p;
  p.kernel(0, 0, 512), p.kernel(1, 512, 512);
  CHECK(p.races() == 0);
}

TEST_CASE("an overlap by one element is a certain race, with the bytes of both") {
  Process p;
  p.kernel(0, 0, 513), p.kernel(1, 512, 512);
  REQUIRE(p.races() == 1);
  const session::Race race = p.detector.races().front();
  CHECK(race.first.exact);
  CHECK(race.second.exact);
  CHECK_FALSE(race.possible);
  CHECK(race.first.begin == kBuffer);
  CHECK(race.first.end == kBuffer + 4 * 513);
  CHECK(race.second.begin == kBuffer + 4 * 512);
  CHECK(race.second.end == kBuffer + 4096);
}

TEST_CASE("halves with different addresses do not race either, but overlaps do") {
  Process p;
  p.kernel(0, 0, 512), p.kernel(1, 0, 512, kBuffer + 2048);
  CHECK(p.races() == 0);
  Process q;
  q.kernel(0, 0, 513), q.kernel(1, 0, 512, kBuffer + 2048);
  CHECK(q.races() == 1);
}

TEST_CASE("a memset next to a kernel's bytes does not race") {
  Process p;
  p.kernel(0, 16, 16), p.fill(1, kBuffer, 64), p.fill(1, kBuffer + 128, 64);
  CHECK(p.races() == 0);
  p.fill(1, kBuffer + 124, 4);
  CHECK(p.races() == 1);
}

TEST_CASE("a launch that uses nothing does not race") {
  Process p;
  p.kernel(0, 0, 0), p.fill(1, kBuffer, 4096);
  CHECK(p.races() == 0);
}

TEST_CASE("without the code or the parameters only the first byte counts") {
  Process p;
  p.kernel(0, 512, 512, kBuffer, 2), p.fill(1, kBuffer, 4);
  CHECK(p.races() == 1);
  Process q;
  q.codes.clear();
  q.kernel(0, 512, 512), q.fill(1, kBuffer, 4);
  CHECK(q.races() == 1);
  Process r;
  r.kernel(0, 512, 512), r.fill(1, kBuffer, 4);
  CHECK(r.races() == 0);
}

TEST_CASE("if several kernels with one name use the same bytes, it does not matter which one ran") {
  Process p;
  p.codes.push_back(code_of("part"));
  p.kernel(0, 0, 512), p.kernel(1, 512, 512);
  CHECK(p.races() == 0);
  p.kernel(1, 511, 1);
  CHECK(p.races() == 1);
  // The kernel may have been `fill`, whose range begins at its pointer. Only the first byte is then certain, and both
  // launches use that byte.
  Process q;
  q.codes.push_back(code_of("fill"));
  q.kernel(0, 0, 512), q.kernel(1, 512, 512);
  CHECK(q.races() == 1);
}

TEST_CASE("columns of one buffer") {
  races::Access a, b;
  a.begin = 1000, a.width = 4, a.pitch = 16, a.rows = 1u << 20;
  b = a;
  for (const std::uint64_t begin : {1004, 1008, 1012, 988, 996, 1000 + 16 * 5 + 4}) {
    CAPTURE(begin);
    b.begin = begin;
    CHECK_FALSE(races::touches(a, b));
    CHECK_FALSE(races::touches(b, a));
  }
  for (const std::uint64_t begin : {1000, 1003, 997, 1016, 984, 1000 + 16 * 5 + 3, 1000 + 16 * ((1 << 20) - 1)}) {
    CAPTURE(begin);
    b.begin = begin;
    CHECK(races::touches(a, b));
    CHECK(races::touches(b, a));
  }
  b.begin = 1000 + 16 * (1 << 20);
  CHECK_FALSE(races::touches(a, b));
}

TEST_CASE("each copy of a batch has separate bytes") {
  Process p;
  p.part(kBuffer, 0, 64), p.part(kBuffer + 1024, kBuffer + 2048, 64), p.batch(0);
  p.fill(1, kBuffer + 64, 960), p.fill(1, kBuffer + 1088, 960);
  CHECK(p.races() == 0);
  for (const std::uint64_t at : {0, 1024, 2048}) {
    Process q;
    q.part(kBuffer, 0, 64), q.part(kBuffer + 1024, kBuffer + 2048, 64), q.batch(0);
    q.fill(1, kBuffer + at + 63, 1);
    CHECK(q.races() == 1);
  }
  // A recorded part belongs only to the batch that follows it, so the second of these batches has no parts.
  Process r;
  r.part(kBuffer, 0, 64), r.batch(0), r.batch(1);
  r.fill(1, kBuffer + 2048, 64);
  CHECK(r.races() == 0);
}

TEST_CASE("a source that a batch may read out of order races with earlier unfinished work of its own stream") {
  for (const auto order : {race::kInStreamOrder, race::kDuringCall, race::kAnyTime}) {
    Process p;
    p.fill(0, kBuffer, 64);
    p.part(kBuffer + 1024, kBuffer, 64, order), p.batch(0);
    const auto races = p.detector.races();
    REQUIRE(races.size() == (order == race::kInStreamOrder ? 0 : 1));
    for (const session::Race& race : races) CHECK(race.second.out_of_order);
    // Later work on the stream starts after the copy.
    p.fill(0, kBuffer, 64);
    CHECK(p.races() == races.size());
  }
  // A batch always writes its destination in stream order.
  Process q;
  q.fill(0, kBuffer, 64);
  q.part(kBuffer, kBuffer + 1024, 64, race::kAnyTime), q.batch(0);
  CHECK(q.races() == 0);
  // With kDuringCall, the read is over before work on other streams is issued. With kAnyTime, the read can happen
  // later.
  for (const auto order : {race::kDuringCall, race::kAnyTime}) {
    Process r;
    r.part(kBuffer + 1024, kBuffer, 64, order), r.batch(0);
    r.fill(1, kBuffer, 64);
    CHECK(r.races() == (order == race::kAnyTime ? 1 : 0));
  }
  // The host has seen the first operation finish.
  Process s;
  s.fill(0, kBuffer, 64);
  s.detector.record(s.blank(Kind::host_saw_stream, 0));
  s.part(kBuffer + 1024, kBuffer, 64, race::kAnyTime), s.batch(0);
  CHECK(s.races() == 0);
}

// ---- Accesses out of bounds

TEST_CASE("a kernel that uses more bytes than its memory has") {
  Process p;
  p.kernel(0, 0, 1024);
  CHECK(p.detector.overruns().empty());
  p.kernel(0, 0, 1025), p.kernel(0, 0, 1025);
  REQUIRE(p.detector.overruns().size() == 1);
  const session::Overrun& overrun = p.detector.overruns().front();
  CHECK(overrun.address == kBuffer);
  CHECK(overrun.bytes == kBytes);
  CHECK(overrun.access.begin == kBuffer);
  CHECK(overrun.access.end == kBuffer + 4100);
  CHECK(overrun.times == 4);  // each of the two launches reads and writes
}

TEST_CASE("a kernel that begins before its memory") {
  Process p;
  p.kernel(0, -1, 8);
  CHECK(p.detector.overruns().size() == 1);
}

TEST_CASE("an address that is the end of other memory, whose bytes alone are used") {
  Process p;
  p.made(kBuffer + kBytes, 4096, Memories::device);
  p.kernel(0, -16, 16, kBuffer + kBytes);
  CHECK(p.detector.overruns().empty());
  p.kernel(0, -16, 17, kBuffer + kBytes);
  CHECK(p.detector.overruns().size() == 1);
}

TEST_CASE("pieces that are mapped next to each other count as one allocation") {
  Process p(Memories::mapped);
  p.made(kBuffer + kBytes, 4096, Memories::mapped);
  p.kernel(0, 0, 2048);
  CHECK(p.detector.overruns().empty());
  p.kernel(0, 0, 2049);
  CHECK(p.detector.overruns().size() == 1);
}

TEST_CASE("registered memory has no known end") {
  Process p(Memories::registered);
  p.kernel(0, 0, 2048);
  CHECK(p.detector.overruns().empty());
}

// ---- Records that wait for code

TEST_CASE("records wait in order until the code of a kernel has been read") {
  Process p;
  bool read = false;
  races::Backlog backlog(p.area.bytes(), p.detector, [&](std::uint32_t function) { return function != 1 || read; });
  p.parameter(kBuffer, 2);
  backlog.record(p.bytes);
  backlog.record(p.kernel_record(0, 2));
  CHECK(backlog.empty());
  CHECK(p.detector.counts().operations == 1);
  p.parameter(kBuffer, 1);
  backlog.record(p.bytes);
  backlog.record(p.kernel_record(1, 1));
  backlog.record(p.kernel_record(1, 2));
  backlog.lost(1, p.ticks);
  backlog.hand_on();
  CHECK(p.detector.counts().operations == 1);
  CHECK(p.detector.counts().lost == 0);
  read = true;
  backlog.hand_on();
  CHECK(backlog.empty());
  CHECK(p.detector.counts().operations == 3);
  CHECK(p.detector.counts().lost == 1);
  CHECK(p.races() == 1);
}

TEST_CASE("records that have waited too long are passed on") {
  Process p;
  races::Backlog backlog(p.area.bytes(), p.detector, [](std::uint32_t) { return false; });
  p.parameter(kBuffer, 1);
  for (std::size_t i = 0; i <= races::Backlog::kMost; ++i) backlog.record(p.bytes);
  CHECK(backlog.empty());
}

TEST_CASE("a launch keeps the parameters that it had when its record arrived") {
  test::AreaShape shape = Process::shape();
  shape.parameter_slots = 4;
  test::AreaBuilder area(shape);
  area.parameters(0, 5, 1, "12345678");
  const session::AreaRegions regions(area.bytes());
  CHECK(session::parameter_bytes(regions, 0, 5) == "12345678");
  CHECK(session::parameter_bytes(regions, 0, 1) == "");
  CHECK(session::parameter_bytes(regions, 9999, 5) == "");
}

TEST_CASE("a kernel may write elsewhere if it stores through a pointer from memory, or if its code is unknown") {
  const auto code = [](const std::string& file) {
    std::ifstream text(TEST_DATA "/sass/" + file + ".sm90.txt");
    const std::string all(std::istreambuf_iterator<char>(text), {});
    REQUIRE_FALSE(all.empty());
    return races::Codes{std::make_shared<const sass::ByteRanges>(all, sass::ParameterBank{0x210, 64})};
  };
  races::LaunchBytes bytes([&](std::uint32_t function) {
    if (function == 1) return code("spill");
    if (function == 4)
      return races::Codes{std::make_shared<const sass::ByteRanges>("", sass::ParameterBank{0x210, 64})};
    return function == 2 ? code("part") : races::Codes();
  });
  CHECK(bytes.may_write_elsewhere(1));
  CHECK_FALSE(bytes.may_write_elsewhere(2));
  CHECK(bytes.may_write_elsewhere(3));  // its code is unknown
  CHECK(bytes.may_write_elsewhere(4));  // its code cannot be analysed
  CHECK(races::LaunchBytes([](std::uint32_t) { return races::Codes(); }).may_write_elsewhere(2));
}

}  // namespace launch_bytes_test
