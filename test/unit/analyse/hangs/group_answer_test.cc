#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "analyse/rank_divergence.h"

using namespace cudadiag;
using namespace cudadiag::analyse;

namespace {

using wire::collective::Function;
using wire::collective::Type;
using Kind = GroupAnswer::Kind;
using Difference = GroupAnswer::Difference;

// One rank of a job. Its calls are one second apart.
class Rank : public RankState {
 public:
  explicit Rank(int of_job) { rank = of_job, pid = 100 + static_cast<std::uint32_t>(of_job), waited = 60; }

  std::uint32_t join(const std::string& name, std::int32_t ranks, std::int32_t own) {
    session::Communicator group;
    group.name = name;
    group.hash = std::hash<std::string>()(name) | 1;
    group.ranks = ranks, group.rank = own;
    communicators.push_back(group);
    return static_cast<std::uint32_t>(communicators.size() - 1);
  }

  std::size_t call(std::uint32_t group, Function function = Function::all_reduce, std::uint64_t count = 1024) {
    Call made = begin(group, function, count);
    made.ordinal = static_cast<std::uint32_t>(++communicators[group].collectives);
    made.of_function = ++of_function_[{group, function}];
    made.peer = -1;
    return add(made);
  }
  std::size_t send(std::uint32_t group, std::uint32_t peer, std::uint64_t count = 64) {
    return message(group, Function::send, peer, count, communicators[group].sends[peer]);
  }
  std::size_t receive(std::uint32_t group, std::uint32_t peer, std::uint64_t count = 64) {
    return message(group, Function::receive, peer, count, communicators[group].receives[peer]);
  }

  // Adds a stream on which any of these calls may be the unfinished one.
  Rank& in(std::vector<std::size_t> stream) {
    unfinished.push_back(std::move(stream));
    return *this;
  }

 private:
  Call begin(std::uint32_t group, Function function, std::uint64_t count) {
    Call made;
    made.communicator = group;
    made.function = function;
    made.type = Type::f32;
    made.count = count;
    made.number = calls.size() + 1;
    made.made = static_cast<double>(calls.size() + 1);
    return made;
  }
  std::size_t message(std::uint32_t group, Function function, std::uint32_t peer, std::uint64_t count,
                      std::uint64_t& calls_of_peer) {
    Call made = begin(group, function, count);
    made.ordinal = static_cast<std::uint32_t>(++calls_of_peer);
    made.peer = static_cast<std::int32_t>(peer);
    return add(made);
  }
  std::size_t add(const Call& made) {
    calls.push_back(made);
    return calls.size() - 1;
  }

  std::map<std::pair<std::uint32_t, Function>, std::uint32_t> of_function_;
};

std::vector<RankState> states(const std::vector<Rank>& ranks) { return {ranks.begin(), ranks.end()}; }
std::optional<GroupAnswer> answer_of(const std::vector<Rank>& ranks, bool hangs = true) {
  return group_answer(states(ranks), hangs);
}

// Builds the ranks of one group. Rank i has issued `calls[i]` all-reduces, and none of them has finished.
std::vector<Rank> world(const std::vector<int>& calls) {
  std::vector<Rank> ranks;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    Rank& rank = ranks.emplace_back(static_cast<int>(i));
    const auto group = rank.join("world", static_cast<std::int32_t>(calls.size()), static_cast<std::int32_t>(i));
    std::vector<std::size_t> made;
    for (int call = 0; call < calls[i]; ++call) made.push_back(rank.call(group));
    rank.in(made);
  }
  return ranks;
}

std::vector<std::size_t> absent(const GroupAnswer& answer) {
  std::vector<std::size_t> states;
  for (const auto& rank : answer.ranks) {
    if (!rank.has_come) states.push_back(rank.state);
  }
  return states;
}

}  // namespace

TEST_CASE("the missing rank is named, with the call in which the others wait") {
  const auto answer = answer_of(world({5, 4, 5}));
  REQUIRE(answer);
  CHECK(answer->kind == Kind::absence);
  CHECK(absent(*answer) == std::vector<std::size_t>{1});
  CHECK(answer->call.of_function == 5);
  CHECK(answer->group.name == "world");
}

TEST_CASE("in a job that does not hang, only long waits count") {
  auto ranks = world({5, 4, 5});
  CHECK(answer_of(ranks, false));
  for (Rank& rank : ranks) rank.waited = 1;
  CHECK_FALSE(answer_of(ranks, false));
}

TEST_CASE("a slow rank is not named if the others do not wait in its call") {
  auto ranks = world({5, 4, 5});
  for (Rank& rank : ranks) rank.unfinished.clear();
  CHECK_FALSE(answer_of(ranks));
}

TEST_CASE("if all ranks have come and the job hangs, the answer says so") {
  const auto ranks = world({5, 5, 5});
  const auto answer = answer_of(ranks);
  REQUIRE(answer);
  CHECK(answer->kind == Kind::present);
  CHECK_FALSE(answer_of(ranks, false));
}

TEST_CASE("if one rank has finished the call, they do not all wait in it") {
  auto ranks = world({5, 5, 5});
  ranks[1].unfinished.clear();
  CHECK_FALSE(answer_of(ranks));
}

TEST_CASE("ranks of the group without a recording do not count as having come") {
  auto ranks = world({5, 5, 5});
  ranks.pop_back();
  const auto answer = answer_of(ranks);
  REQUIRE(answer);
  CHECK(answer->kind == Kind::absence);
  CHECK(absent(*answer).empty());
  CHECK(answer->unseen == std::vector<std::int32_t>{2});
}

TEST_CASE("the earliest call with a different function, size or type is a mismatch") {
  for (const Difference wanted : {Difference::function, Difference::count, Difference::type}) {
    auto ranks = world({5, 5, 5});
    RankState::Call& odd = ranks[2].calls[3];
    if (wanted == Difference::function) odd.function = Function::all_gather;
    if (wanted == Difference::count) odd.count = 64;
    if (wanted == Difference::type) odd.type = Type::bf16;
    const auto answer = answer_of(ranks);
    REQUIRE(answer);
    CHECK(answer->kind == Kind::mismatch);
    CHECK(answer->difference == wanted);
    CHECK(answer->call.ordinal == 4);
  }
}

TEST_CASE("ranks that had called from the same lines diverge if one calls from a different line") {
  auto ranks = world({5, 4, 5});
  for (Rank& rank : ranks) {
    for (RankState::Call& call : rank.calls) call.line = 1;
  }
  ranks[1].calls[2].line = 2;
  SUBCASE("for the first time") {
    const auto answer = answer_of(ranks);
    REQUIRE(answer);
    CHECK(answer->kind == Kind::mismatch);
    CHECK(answer->difference == Difference::line);
    CHECK(answer->call.ordinal == 3);
  }
  SUBCASE("not if they differ from the first call on") {
    ranks[1].calls[0].line = 2;
    CHECK(answer_of(ranks)->kind == Kind::absence);
  }
  SUBCASE("not if some lines are unknown") {
    ranks[1].calls[2].line = 0;
    CHECK(answer_of(ranks)->kind == Kind::absence);
  }
}

TEST_CASE("a mismatch in a group in which no rank waits is not reported") {
  auto ranks = world({5, 4, 5});
  for (Rank& rank : ranks) {
    const auto side = rank.join("side", 3, *rank.rank);
    rank.call(side, Function::all_reduce, *rank.rank == 2 ? 1 : 8);
  }
  const auto answer = answer_of(ranks);
  REQUIRE(answer);
  CHECK(answer->kind == Kind::absence);
}

TEST_CASE("calls that became nodes of a graph are ignored") {
  auto ranks = world({5, 5, 5});
  for (Rank& rank : ranks) {
    RankState::Call& captured = rank.calls[*rank.rank == 2 ? 1 : 0];
    captured.count = 7u + static_cast<unsigned>(*rank.rank), captured.ordinal = 0,
    captured.flags = wire::collective::kCaptured;
  }
  CHECK(answer_of(ranks)->kind == Kind::present);
}

// Ranks 0 and 1 share group "a". Ranks 1 and 2 share group "b".
TEST_CASE("a rank that waits for another one is not the missing one") {
  std::vector<Rank> ranks = {Rank(0), Rank(1), Rank(2)};
  const auto a0 = ranks[0].join("a", 2, 0), a1 = ranks[1].join("a", 2, 1);
  const auto b1 = ranks[1].join("b", 2, 0), b2 = ranks[2].join("b", 2, 1);
  ranks[0].call(a0), ranks[1].call(a1), ranks[1].call(b1), ranks[2].call(b2);
  ranks[0].in({ranks[0].call(a0)});
  ranks[1].in({ranks[1].call(b1)});
  const auto answer = answer_of(ranks);
  REQUIRE(answer);
  CHECK(answer->kind == Kind::absence);
  CHECK(answer->group.name == "b");
  CHECK(absent(*answer) == std::vector<std::size_t>{2});
}

TEST_CASE("work queued after the call in which a rank waits does not wait for another rank yet") {
  std::vector<Rank> ranks = {Rank(0), Rank(1), Rank(2)};
  const auto a0 = ranks[0].join("a", 2, 0), a1 = ranks[1].join("a", 2, 1);
  const auto b0 = ranks[0].join("b", 2, 0), b2 = ranks[2].join("b", 2, 1);
  ranks[1].communicators[a1].collectives = 0, ranks[2].communicators[b2].collectives = 0;
  ranks[0].in({ranks[0].call(a0), ranks[0].call(b0)});
  const auto answer = answer_of(ranks);
  REQUIRE(answer);
  CHECK(answer->group.name == "a");
}

TEST_CASE("ranks that call two groups in different orders wait in a circle") {
  std::vector<Rank> ranks = {Rank(0), Rank(1)};
  const auto a0 = ranks[0].join("a", 2, 0), b0 = ranks[0].join("b", 2, 0);
  const auto a1 = ranks[1].join("a", 2, 1), b1 = ranks[1].join("b", 2, 1);
  (void)b0, (void)a1;
  ranks[0].in({ranks[0].call(a0)});
  ranks[1].in({ranks[1].call(b1)});
  const auto answer = answer_of(ranks);
  REQUIRE(answer);
  CHECK(answer->kind == Kind::circle);
  REQUIRE(answer->circle.size() == 2);
  CHECK(answer->circle[0].state == 0);
  CHECK(answer->circle[0].for_state == 1);
  CHECK(answer->circle[1].for_state == 0);
}

TEST_CASE("two stages that both send first wait in a circle, unless one receives first") {
  std::vector<Rank> ranks = {Rank(0), Rank(1)};
  const auto p0 = ranks[0].join("pp", 2, 0), p1 = ranks[1].join("pp", 2, 1);
  ranks[0].in({ranks[0].send(p0, 1)});
  SUBCASE("both send") {
    ranks[1].in({ranks[1].send(p1, 0)});
    const auto answer = answer_of(ranks);
    REQUIRE(answer);
    CHECK(answer->kind == Kind::circle);
    CHECK(answer->circle.size() == 2);
  }
  SUBCASE("one receives") {
    ranks[1].in({ranks[1].receive(p1, 0)});
    const auto answer = answer_of(ranks);
    REQUIRE(answer);
    CHECK(answer->kind == Kind::present);
  }
  SUBCASE("one receives a different size") {
    ranks[1].in({ranks[1].receive(p1, 0, 32)});
    const auto answer = answer_of(ranks);
    REQUIRE(answer);
    CHECK(answer->kind == Kind::mismatch);
    CHECK(answer->difference == Difference::count);
  }
}

TEST_CASE("a rank whose call is queued after unfinished work has not come") {
  std::vector<Rank> ranks = {Rank(0), Rank(1)};
  const auto p0 = ranks[0].join("pp", 2, 0), p1 = ranks[1].join("pp", 2, 1);
  ranks[0].in({ranks[0].send(p0, 1)});
  SUBCASE("both send, and then receive") {
    ranks[0].calls[ranks[0].receive(p0, 1)].flags |= RankState::kQueued;
    ranks[1].in({ranks[1].send(p1, 0)});
    ranks[1].calls[ranks[1].receive(p1, 0)].flags |= RankState::kQueued;
    const auto answer = answer_of(ranks);
    REQUIRE(answer);
    CHECK(answer->kind == Kind::circle);
  }
  SUBCASE("the other one is in its own kernel") {
    ranks[1].calls[ranks[1].receive(p1, 0)].flags |= RankState::kQueued;
    const auto answer = answer_of(ranks);
    REQUIRE(answer);
    CHECK(answer->kind == Kind::absence);
    CHECK(absent(*answer) == std::vector<std::size_t>{1});
  }
}

TEST_CASE("a message is matched by its peer and direction, not only by the group") {
  std::vector<Rank> ranks = {Rank(0), Rank(1), Rank(2)};
  std::vector<std::uint32_t> group;
  for (Rank& rank : ranks) group.push_back(rank.join("pp", 3, *rank.rank));
  // Rank 1's receive from rank 2 and its send to rank 0 are matched. Rank 0's send to rank 1 is not.
  ranks[1].receive(group[1], 2), ranks[2].send(group[2], 1);
  ranks[1].send(group[1], 0), ranks[0].receive(group[0], 1);
  ranks[0].in({ranks[0].send(group[0], 1)});
  const auto answer = answer_of(ranks);
  REQUIRE(answer);
  CHECK(answer->kind == Kind::absence);
  CHECK(absent(*answer) == std::vector<std::size_t>{1});
  CHECK(answer->ranks.size() == 2);
  CHECK(answer->call.function == Function::send);
}

TEST_CASE("a record without its communicators or messages gives no answer") {
  auto ranks = world({5, 4, 5});
  ranks[0].is_whole = false;
  CHECK_FALSE(answer_of(ranks));
}
