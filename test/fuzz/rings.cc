// Fuzzes the follower, which reads a recording while it is written, and the search for races. An input is a sequence of
// records of a process. Each record comes with bytes to XOR into it, and with the number of records that the process
// claims to have published.
#include <algorithm>

#include "races/race_detector.h"
#include "session/ring_follower.h"
#include "unit/session/busy_area.h"

using namespace cudadiag;

namespace {

constexpr std::size_t kRecord = wire::area::kOperationSize;
constexpr std::size_t kStep = 8 + kRecord;

// Builds an area with a thread of 32 records, two streams and two allocations.
test::AreaBuilder program() {
  test::AreaBuilder area({.threads = 1, .ring = 32});
  area.live_thread(0, 11, 0);
  area.live_stream(0);
  area.live_stream(1);
  area.allocation(0, 0x1000, 4096);
  area.allocation(1, 0x2000, 4096);
  return area;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  test::AreaBuilder area = program();
  session::RingFollower follower(area.bytes());
  races::Detector detector(area.bytes(), [](std::uint32_t function, std::uint32_t, const auto&) {
    return std::optional(static_cast<sass::Mode>(function % 5));
  });
  races::Backlog backlog(area.bytes(), detector, [](std::uint32_t function) { return function % 2 == 0; });
  std::uint64_t serial = 0;
  for (std::span<const std::uint8_t> input(data, size); input.size() >= kStep; input = input.subspan(kStep)) {
    ++serial;
    std::byte* record = area.kernel(0, serial, input[0] % 3, serial);
    for (std::size_t i = 0; i < kRecord; ++i) record[i] ^= std::byte{input[8 + i]};
    // Corrupt the tables, too.
    if (input[1] == 1) area.bytes()[(input[2] | input[3] << 8) % area.bytes().size()] ^= std::byte{input[4]};
    wire::store(area.thread(0), wire::thread::kPublished, input[5] == 255 ? ~std::uint64_t{0} : serial + input[5] % 4);
    if (input[6] % 2 == 0) follower.poll(backlog);
    if (input[7] == 1) backlog.look_for_drops();
    if (input[7] == 2) backlog.hand_on();
  }
  follower.finish(backlog);
  backlog.hand_on_all();
  detector.settle(false);
  detector.settle(true);
  detector.races();
  detector.counts();
  return 0;
}
