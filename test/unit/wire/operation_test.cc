#include "wire/operation.h"

#include <doctest/doctest.h>

#include <vector>

#include "wire/area.h"

using namespace cudadiag::wire;

TEST_CASE("a record ends with its last field") {
  CHECK(area::kOperationSize == 64);
  CHECK(operation::kNodeThread.end == area::kOperationSize);
  CHECK(operation::kGraphWords.end == operation::kNumber.offset);
}

TEST_CASE("dimensions are restored from one number, and those that do not fit become the largest possible") {
  using operation::Block;
  const std::uint32_t block[3] = {1024, 1, 64};
  CHECK(Block::fit(block));
  const auto packed = Block::pack(block);
  CHECK((Block::x(packed) == 1024 && Block::y(packed) == 1 && Block::z(packed) == 64));

  const std::uint32_t large[3] = {1u << 31, 4096, 3};
  CHECK_FALSE(Block::fit(large));
  const auto cut = Block::pack(large);
  CHECK((Block::x(cut) == 4095 && Block::y(cut) == 4095 && Block::z(cut) == 3));

  using operation::Cluster;
  const auto cluster = Cluster::pack({16, 2, 31});
  CHECK((Cluster::x(cluster) == 16 && Cluster::y(cluster) == 2 && Cluster::z(cluster) == 31));
}

TEST_CASE("counts of consecutive sites are far apart, and each has its own place") {
  for (const std::size_t places : {std::size_t{8}, std::size_t{32}, area::kSites}) {
    std::vector<bool> taken(places);
    for (std::size_t site = 0; site < places; ++site) {
      const std::size_t place = area::site_place(site, places);
      REQUIRE(place < places);
      REQUIRE_FALSE(taken[place]);
      taken[place] = true;
    }
  }
  CHECK(area::site_place(8, area::kSites) - area::site_place(7, area::kSites) == 16);
}
