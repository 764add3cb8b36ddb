// Tests reading the parameters of recent launches from hand-built areas.
#include <doctest/doctest.h>

#include "session/area_reader.h"
#include "unit/session/area_builder.h"

using namespace cudadiag;

namespace {

// The layout of a kernel's parameters: a pointer, a 4-byte number and another pointer.
const std::vector<std::uint16_t> kLayout = {3, 0, 8, 8, 4, 16, 8};

struct Launch {
  explicit Launch(std::size_t slots = 1)
      : area([slots] {
          test::AreaShape shape;
          shape.parameter_slots = slots;
          return shape;
        }()) {
    area.live_thread(0, 42, 1);
    area.live_stream(0);
    area.kernel(0, 1, 0, 100);
    area.layout(1, kLayout);
  }

  session::ProcessRecord read() { return session::read_area(area.bytes()).record; }

  test::AreaBuilder area;
};

}  // namespace

TEST_CASE("a launch has the parameters that are kept for it") {
  Launch launch;
  launch.area.parameters(0, 1, 1, std::string("ABCDEFGH\x05\0\0\0....abcdefgh", 24));
  const auto record = launch.read();
  REQUIRE(record.arguments.size() == 1);
  CHECK(record.arguments[0].serial == 1);
  REQUIRE(record.arguments[0].parameters.size() == 3);
  CHECK(record.arguments[0].parameters[0].bytes == "ABCDEFGH");
  CHECK(record.arguments[0].parameters[1].bytes == std::string("\x05\0\0\0", 4));
  CHECK(record.arguments[0].parameters[2].offset == 16);
  CHECK(record.arguments[0].parameters[2].bytes == "abcdefgh");
  CHECK(record.damaged == 0);
}

TEST_CASE("parameters are lost if a later launch has taken the slot") {
  Launch launch;
  launch.area.parameters(0, 2, 1, std::string(24, 'x'));
  CHECK(launch.read().arguments.empty());
}

TEST_CASE("without a layout the bytes are one piece") {
  Launch launch;
  launch.area.parameters(0, 1, 0, "12345678");
  const auto record = launch.read();
  REQUIRE(record.arguments.size() == 1);
  CHECK((record.arguments[0].flags & wire::intern::kBuffer) != 0);
  CHECK(record.arguments[0].parameters[0].bytes == "12345678");
}

TEST_CASE("truncated parameters are marked as such") {
  Launch launch;
  wire::store(launch.area.parameters(0, 1, 1, "ABCDEFGH"), wire::launch_parameters::kFlags, wire::intern::kCut);
  const auto record = launch.read();
  REQUIRE(record.arguments.size() == 1);
  CHECK(record.arguments[0].parameters.size() == 1);
  CHECK((record.arguments[0].flags & wire::intern::kCut) != 0);
  CHECK(record.damaged == 0);
}

TEST_CASE("the beginning of a long structure is kept") {
  Launch launch;
  launch.area.layout(1, {2, 0, 8, 8, 256});
  std::byte* slot = nullptr;
  std::size_t parameters = 0;
  SUBCASE("if it is long enough") {
    slot = launch.area.parameters(0, 1, 1, "ABCDEFGH" + std::string(128, 'm'));
    parameters = 2;
  }
  SUBCASE("not if little of it was recorded") {
    slot = launch.area.parameters(0, 1, 1, "ABCDEFGH" + std::string(127, 'm'));
    parameters = 1;
  }
  wire::store(slot, wire::launch_parameters::kFlags, wire::intern::kCut);
  const auto record = launch.read();
  REQUIRE(record.arguments.size() == 1);
  REQUIRE(record.arguments[0].parameters.size() == parameters);
  if (parameters == 2) CHECK(record.arguments[0].parameters[1].bytes == std::string(128, 'm'));
}

TEST_CASE("invalid parameters are counted and ignored") {
  Launch launch;
  SUBCASE("a layout outside its region") { launch.area.parameters(0, 1, 4000, "ABCDEFGH"); }
  SUBCASE("parameters that overlap") {
    launch.area.layout(1, {2, 0, 8, 4, 4});
    launch.area.parameters(0, 1, 1, "ABCDEFGH");
  }
  SUBCASE("parameters without bytes") {
    launch.area.layout(1, {2, 0, 0, 0, 0});
    launch.area.parameters(0, 1, 1, "ABCDEFGH");
  }
  SUBCASE("more parameters than bytes") { launch.area.parameters(0, 1, 1, "ABCDEFGH"); }
  SUBCASE("more bytes than a slot has") {
    wire::store(launch.area.parameters(0, 1, 1, "ABCDEFGH"), wire::launch_parameters::kBytes, std::uint16_t{60000});
  }
  const auto record = launch.read();
  CHECK(record.arguments.empty());
  CHECK(record.damaged == 1);
}

namespace {

// An area whose only operation is a copy of 16 bytes.
struct Copy : Launch {
  Copy() {
    namespace o = wire::operation;
    std::byte* copy = area.kernel(0, 1, 0, 100);
    wire::store(copy, o::kKind, static_cast<std::uint8_t>(o::Kind::copy));
    wire::store(copy, o::kBytes, std::uint32_t{16});
    wire::store(copy, o::kDestination, std::uint64_t{0x7f0000000000});
  }
};

}  // namespace

TEST_CASE("a copy has the contents that are kept for it") {
  Copy copy;
  copy.area.copied(1, 0, 1, "ABCDEFGHabcdefgh");
  const auto record = copy.read();
  REQUIRE(record.arguments.size() == 1);
  CHECK(record.arguments[0].serial == 1);
  CHECK(record.arguments[0].flags == 0);
  REQUIRE(record.arguments[0].parameters.size() == 1);
  CHECK(record.arguments[0].parameters[0].bytes == "ABCDEFGHabcdefgh");
}

TEST_CASE("contents that were not kept as a whole are marked as such") {
  Copy copy;
  copy.area.copied(0, 0, 1, "ABCDEFGH");
  const auto record = copy.read();
  REQUIRE(record.arguments.size() == 1);
  CHECK((record.arguments[0].flags & wire::intern::kCut) != 0);
}

TEST_CASE("contents of another operation are ignored, and invalid ones are counted") {
  Copy copy;
  std::uint64_t damaged = 0;
  SUBCASE("a later copy") { copy.area.copied(0, 0, 2, "ABCDEFGHabcdefgh"); }
  SUBCASE("a copy of another thread") { copy.area.copied(0, 1, 1, "ABCDEFGHabcdefgh"); }
  SUBCASE("a kernel") {
    copy.area.kernel(0, 1, 0, 100);
    copy.area.copied(0, 0, 1, "ABCDEFGHabcdefgh");
  }
  SUBCASE("more bytes than were copied") {
    copy.area.copied(0, 0, 1, "ABCDEFGHabcdefgh.");
    damaged = 1;
  }
  SUBCASE("more bytes than a slot has") {
    wire::store(copy.area.copied(0, 0, 1, "ABCDEFGH"), wire::launch_parameters::copied::kBytes, 60000u);
    damaged = 1;
  }
  const auto record = copy.read();
  CHECK(record.arguments.empty());
  CHECK(record.damaged == damaged);
}
