
#include <doctest/doctest.h>

#include <cstring>

#include "replay/player.h"

using namespace cudadiag::replay;

namespace {

std::vector<Block> blocks() {
  std::vector<Block> all;
  for (const auto& [address, bytes] : {std::pair(0x10000u, 0x1000u), {0x11000u, 0x800u}, {0x20000u, 0x100u}}) {
    all.push_back({address, bytes, MemoryKind::device, Reach::parameter});
  }
  return all;
}

}  // namespace

TEST_CASE("blocks that share a granule are mapped together") {
  std::vector<Block> all = blocks();
  all.push_back({0x30000, 64, MemoryKind::pinned});
  all.push_back({0x40000, 8, MemoryKind::none, Reach::module, Unsaved::no, {}, "place"});
  const auto ranges = granules(all, {true, true, true, true, true}, 0x1000);
  REQUIRE(ranges.size() == 2);
  CHECK(ranges[0].begin == 0x10000);
  CHECK(ranges[0].end == 0x12000);
  CHECK(ranges[1].begin == 0x20000);
  CHECK(ranges[1].end == 0x21000);
  CHECK(granules(all, {false, false, true, true, true}, 0x1000).size() == 1);
}

TEST_CASE("pointers follow a block that moves") {
  const std::vector<Block> all = blocks();
  Placement placement(all);
  CHECK(!placement.moves());
  placement.put(0, 0x90000);
  CHECK(placement.moves());
  CHECK(placement.rewritten(0x10000) == 0x90000);
  CHECK(placement.rewritten(0x10fff) == 0x90fff);
  CHECK(placement.rewritten(0xffff) == 0xffff);
  // The end of the first block is also the start of the second block, which was not moved.
  CHECK(placement.rewritten(0x11000) == 0x11000);
  CHECK(placement.rewritten(0x20000) == 0x20000);
  CHECK(placement.rewritten(0x5) == 0x5);
  placement.put(2, 0xa0000);
  // A pointer to the end of a block is rewritten, too.
  CHECK(placement.rewritten(0x20100) == 0xa0100);
  CHECK(placement.rewritten(0x20101) == 0x20101);
}

TEST_CASE("only aligned words are rewritten") {
  const std::vector<Block> all = blocks();
  Placement placement(all);
  placement.put(0, 0x90000);
  std::vector<std::byte> bytes(28);
  const std::uint64_t pointer = 0x10008;
  std::memcpy(bytes.data() + 8, &pointer, 8);
  std::memcpy(bytes.data() + 20, &pointer, 8);
  CHECK(placement.rewrite(bytes) == 1);
  std::uint64_t now = 0;
  std::memcpy(&now, bytes.data() + 8, 8);
  CHECK(now == 0x90008);
}

TEST_CASE("pointers to a block that is omitted are not rewritten") {
  const std::vector<Block> all = blocks();
  Placement placement(all);
  placement.leave_out(2);
  CHECK(!placement.of(2));
  CHECK(placement.rewritten(0x20010) == 0x20010);
}
