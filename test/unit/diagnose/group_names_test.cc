#include <doctest/doctest.h>

#include "diagnose/ranks.h"

namespace group_names_test {

using namespace cudadiag;
using namespace cudadiag::diagnose;

namespace {

using analyse::RankState;

// Makes rank `rank` of the job a member of a group.
void join(RankState& state, std::uint64_t hash, std::int32_t rank, std::int32_t ranks, const char* name = "") {
  session::Communicator& communicator = state.communicators.emplace_back();
  communicator.hash = hash;
  communicator.rank = rank;
  communicator.ranks = ranks;
  communicator.name = name;
}

std::vector<RankState> job(int ranks) {
  std::vector<RankState> states(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    states[static_cast<std::size_t>(rank)].rank = rank;
    states[static_cast<std::size_t>(rank)].pid = 100 + static_cast<std::uint32_t>(rank);
  }
  return states;
}

}  // namespace

TEST_CASE("a group has the name that the program gave it") {
  auto states = job(2);
  join(states[0], 7, 0, 2, "tp1"), join(states[1], 7, 1, 2, "tp1");
  CHECK(GroupNames(states).group(7) == "group tp1");
}

TEST_CASE("a group without a name lists its ranks in the job") {
  auto states = job(8);
  join(states[6], 7, 0, 2), join(states[3], 7, 1, 2);
  for (int rank = 0; rank < 8; ++rank) join(states[static_cast<std::size_t>(rank)], 9, rank, 8);
  const GroupNames names(states);
  CHECK(names.group(7) == "the group of ranks 3 and 6");
  CHECK(names.group(9) == "the group of ranks 0-7");
  CHECK(names.rank(7, 0) == "rank 6");
  CHECK(names.rank(7, 5) == "rank 5 of the group");
}

TEST_CASE("groups of the same ranks are numbered in the order of creation") {
  auto states = job(2);
  for (const std::uint64_t hash : {9, 4}) join(states[0], hash, 0, 2), join(states[1], hash, 1, 2);
  const GroupNames names(states);
  CHECK(names.group(9) == "group 1 of ranks 0 and 1");
  CHECK(names.group(4) == "group 2 of ranks 0 and 1");
}

TEST_CASE("ranks that are not recorded are counted") {
  auto states = job(2);
  join(states[0], 7, 0, 4), join(states[1], 7, 1, 4);
  CHECK(GroupNames(states).group(7) == "the group of ranks 0 and 1 and 2 more");
}

}  // namespace group_names_test
