#include <doctest/doctest.h>

#include <random>

#include "area_builder.h"
#include "session/area_reader.h"

using namespace cudadiag;
using test::AreaBuilder;

namespace c = wire::communicator;
namespace w = wire::collective;

namespace {

void make_group(AreaBuilder& area, std::size_t i, std::uint64_t hash, std::int32_t rank) {
  std::byte* entry = area.communicator(i);
  wire::store(entry, c::kHash, hash);
  wire::store(entry, c::kRank, rank);
  wire::store(entry, c::kRanks, 4);
  wire::store(entry, c::kVersion, 5);
  wire::store(entry, c::kCollectives, 7);
  std::memcpy(entry + c::kName, "tp1", 3);
  wire::store(entry, c::kState, static_cast<std::uint32_t>(c::State::live));
}

std::byte* make_call(AreaBuilder& area, std::uint64_t number, std::size_t places) {
  std::byte* entry = area.collective((number - 1) % places);
  wire::store(area.data(), wire::area::kCollectivesCalled, number);
  wire::store(entry, w::kTicks, 100 * number);
  wire::store(entry, w::kCount, 1024u);
  wire::store(entry, w::kOrdinal, 7u);
  wire::store(entry, w::kOfFunction, 3u);
  wire::store(entry, w::kPeer, -1);
  wire::store(entry, w::kFunction, static_cast<std::uint8_t>(w::Function::all_reduce));
  wire::store(entry, w::kType, static_cast<std::uint8_t>(w::Type::bf16));
  wire::store(entry, w::kNumber, number);
  return entry;
}

}  // namespace

TEST_CASE("communicators, their messages and calls are read as written") {
  AreaBuilder area;
  make_group(area, 0, 0xabc, 2);
  wire::store(area.peer(1), wire::peer::kKey, wire::peer::key_of(0, 3, true));
  wire::store(area.peer(1), wire::peer::kCalls, 9u);
  // The ring holds four calls, so the fifth overwrites the first.
  for (std::uint64_t number = 1; number <= 5; ++number) make_call(area, number, 4);
  const auto contents = session::read_area(area.bytes());
  const session::ProcessRecord& record = contents.record;
  CHECK(record.damaged == 0);
  REQUIRE(record.communicators.size() == 1);
  const session::Communicator& group = record.communicators[0];
  CHECK(group.name == "tp1");
  CHECK(group.hash == 0xabc);
  CHECK(group.rank == 2);
  CHECK(group.collectives == 7);
  CHECK(group.receives == std::map<std::uint32_t, std::uint64_t>{{3, 9}});
  CHECK(group.sends.empty());
  REQUIRE(record.collectives.size() == 4);
  CHECK(record.collectives.front().number == 2);
  CHECK(record.collectives.back().function == w::Function::all_reduce);
  CHECK(record.collectives.back().type == w::Type::bf16);
  CHECK(record.collectives.back().peer == -1);
}

TEST_CASE("a call being written is ignored, and invalid ones are counted") {
  AreaBuilder area;
  make_group(area, 0, 1, 0);
  wire::store(make_call(area, 1, 4), w::kNumber, std::uint64_t{0});
  wire::store(make_call(area, 2, 4), w::kCommunicator, std::uint16_t{9});
  wire::store(make_call(area, 3, 4), w::kFunction, std::uint8_t{200});
  wire::store(make_call(area, 4, 4), w::kNumber, std::uint64_t{5});
  const auto contents = session::read_area(area.bytes());
  CHECK(contents.record.collectives.empty());
  CHECK(contents.record.damaged == 3);
}

TEST_CASE("a rank outside its group makes the group invalid") {
  AreaBuilder area;
  make_group(area, 0, 1, 4);
  const auto contents = session::read_area(area.bytes());
  CHECK(contents.record.damaged == 1);
  CHECK(contents.record.communicators.at(0).hash == 0);
}

TEST_CASE("any bytes in NCCL's regions are read safely") {
  std::minstd_rand random(44);
  for (int round = 0; round < 200; ++round) {
    AreaBuilder area;
    make_group(area, 0, 1, 0);
    wire::store(area.data(), wire::area::kCollectivesCalled, std::uint64_t{random()});
    for (std::byte* at = area.communicator(0); at < area.collective(4); ++at) {
      if (random() % 4 == 0) *at = static_cast<std::byte>(random());
    }
    session::read_area(area.bytes());
  }
}
