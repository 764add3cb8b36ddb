#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "analyse/rank_divergence.h"
#include "diagnose/ranks.h"

namespace flight_rank_test {

using namespace cudadiag;
using namespace cudadiag::diagnose;
using analyse::GroupAnswer;
using analyse::RankState;
using evidence::FlightCall;
using evidence::FlightDump;
using wire::collective::Function;
using wire::collective::Type;
using State = FlightCall::State;

namespace {

constexpr double kStart = 1.7e9;

// The dump of one rank. Its calls are one second apart.
class Dump : public FlightDump {
 public:
  explicit Dump(std::int32_t rank) : rank_(rank) { version = "2.10", is_whole = true; }

  std::uint32_t group(const std::string& name, std::vector<std::int32_t> ranks, const std::string& description = "") {
    groups.push_back({name, description, std::move(ranks)});
    numbers_.push_back(0);
    return static_cast<std::uint32_t>(groups.size() - 1);
  }
  Dump& call(std::uint32_t group, const std::string& function = "all_reduce", State state = State::completed,
             std::uint64_t size = 1024) {
    ++numbers_[group];
    return again(group, function, state, size);
  }
  // Adds a call to the batch of the previous call.
  Dump& again(std::uint32_t group, const std::string& function, State state, std::uint64_t size = 1024) {
    FlightCall& made = begin(group, function, state, size);
    made.collective = numbers_[group];
    return *this;
  }
  Dump& message(std::uint32_t group, const std::string& function, State state, std::uint64_t batch = 0) {
    FlightCall& made = begin(group, function, state, 64);
    made.is_message = true;
    made.message = batch;
    return *this;
  }
  Dump& at(int line) {
    stacks.push_back({{"/usr/lib/python3/dist-packages/torch/distributed/distributed_c10d.py", "all_reduce", 9},
                      {"/home/u/model.py", "forward", line}});
    calls.back().stack = static_cast<std::uint32_t>(stacks.size());
    return *this;
  }

  RankState state(std::size_t most = analyse::kAllCalls) const { return flight_rank(*this, rank_, kStart + 600, most); }

 private:
  FlightCall& begin(std::uint32_t group, const std::string& function, State state, std::uint64_t size) {
    FlightCall& made = calls.emplace_back();
    made.group = group;
    made.function = function;
    made.state = state;
    made.input = made.output = size;
    made.input_type = made.output_type = "Float";
    made.created = kStart + static_cast<double>(calls.size());
    return made;
  }

  std::int32_t rank_;
  std::vector<std::uint64_t> numbers_;
};

std::optional<GroupAnswer> answer_of(const std::vector<Dump>& dumps, bool hangs = true) {
  std::vector<RankState> states;
  for (const Dump& dump : dumps) states.push_back(dump.state());
  return analyse::group_answer(states, hangs);
}

// Ranks 0 to 2 in one group. Each has finished one all-reduce.
std::vector<Dump> world() {
  std::vector<Dump> ranks;
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    Dump& dump = ranks.emplace_back(rank);
    dump.call(dump.group("0", {0, 1, 2}, "default_pg"));
  }
  return ranks;
}

}  // namespace

TEST_CASE("the rank that did not come is known by the number of its calls") {
  auto ranks = world();
  for (int rank : {0, 1}) ranks[static_cast<std::size_t>(rank)].call(0, "all_reduce", State::scheduled);
  const auto answer = answer_of(ranks);
  REQUIRE(answer);
  CHECK(answer->kind == GroupAnswer::Kind::absence);
  CHECK(answer->group.name == "default_pg");
  CHECK(answer->call.ordinal == 2);
  REQUIRE(answer->ranks.size() == 3);
  CHECK(answer->ranks[0].has_come);
  CHECK_FALSE(answer->ranks[2].has_come);
}

// Reads dumps that data/flight_recorder/make_dumps.py wrote with PyTorch 2.11.
TEST_CASE("the rank that did not come is known by PyTorch's own dumps") {
  std::vector<RankState> states;
  for (int rank = 0; rank < 3; ++rank) {
    std::ifstream file(TEST_DATA "/flight_recorder/rank_" + std::to_string(rank), std::ios::binary);
    const auto read = evidence::read_flight_dump({std::istreambuf_iterator<char>(file), {}});
    REQUIRE(std::holds_alternative<FlightDump>(read));
    states.push_back(flight_rank(std::get<FlightDump>(read), rank, 2e9, analyse::kAllCalls));
  }
  const auto answer = analyse::group_answer(states, true);
  REQUIRE(answer);
  CHECK(answer->kind == GroupAnswer::Kind::absence);
  CHECK(answer->group.name == "tp1");
  CHECK(answer->call.ordinal == 2);
  REQUIRE(answer->ranks.size() == 2);
  CHECK(answer->ranks[0].has_come);
  CHECK_FALSE(answer->ranks[1].has_come);
  CHECK(states[2].rank == 2);
}

TEST_CASE("a job whose dumped calls have all finished gives no answer") { CHECK_FALSE(answer_of(world())); }

TEST_CASE("unless a job is known to hang, only calls that have waited for a long time count") {
  auto ranks = world();
  for (Dump& dump : ranks) dump.call(0);
  ranks[0].call(0, "all_reduce", State::started);
  std::vector<RankState> states;
  for (const Dump& dump : ranks) states.push_back(dump.state());
  CHECK(states[0].waited == doctest::Approx(597));
  CHECK(analyse::group_answer(states, false));
  for (RankState& state : states) state.waited = 1;
  CHECK_FALSE(analyse::group_answer(states, false));
}

TEST_CASE("a different size, type or function is a mismatch") {
  for (const auto& [function, size, difference] :
       {std::tuple("all_reduce", 64, GroupAnswer::Difference::count),
        std::tuple("_all_gather_base", 1024, GroupAnswer::Difference::function)}) {
    auto ranks = world();
    for (Dump& dump : ranks) dump.call(0, "all_reduce", State::scheduled);
    ranks[1].calls.back().function = function;
    ranks[1].calls.back().input = static_cast<std::uint64_t>(size);
    const auto answer = answer_of(ranks);
    REQUIRE(answer);
    CHECK(answer->kind == GroupAnswer::Kind::mismatch);
    CHECK(answer->difference == difference);
  }
  auto ranks = world();
  for (Dump& dump : ranks) dump.call(0, "all_reduce", State::scheduled);
  ranks[1].calls.back().input_type = "Half";
  CHECK(answer_of(ranks)->difference == GroupAnswer::Difference::type);
}

TEST_CASE("the ranks of an all-to-all need not agree on the size") {
  auto ranks = world();
  for (Dump& dump : ranks) dump.call(0, "all_to_all", State::scheduled);
  ranks[1].calls.back().input = 7;
  CHECK(answer_of(ranks)->kind == GroupAnswer::Kind::present);
}

TEST_CASE("a call that is followed by others in its group has finished") {
  auto ranks = world();
  for (Dump& dump : ranks) dump.calls.back().state = State::scheduled, dump.call(0);
  for (const Dump& dump : ranks) CHECK(dump.state().unfinished.empty());
}

TEST_CASE("a call after one that has not finished has not begun") {
  Dump dump(0);
  dump.call(dump.group("0", {0, 1}), "all_reduce", State::scheduled).call(0, "all_reduce", State::scheduled);
  const RankState state = dump.state();
  CHECK((state.calls[0].flags & RankState::kQueued) == 0);
  CHECK((state.calls[1].flags & RankState::kQueued) != 0);
}

TEST_CASE("a batch counts as one call, with the state of its last one") {
  Dump dump(0);
  dump.call(dump.group("0", {0, 1}), "_broadcast_oop", State::scheduled).again(0, "_broadcast_oop", State::scheduled);
  dump.again(0, "ALLGATHER_coalesced", State::scheduled);
  RankState state = dump.state();
  REQUIRE(state.calls.size() == 1);
  CHECK(state.unfinished.size() == 1);
  CHECK(state.is_whole);
  dump.calls.back().state = State::completed;
  CHECK(dump.state().unfinished.empty());
}

TEST_CASE("a batch of which only the end is known gives no answer") {
  Dump dump(0);
  dump.call(dump.group("0", {0, 1}), "coalesced", State::scheduled);
  CHECK_FALSE(dump.state().is_whole);
}

TEST_CASE("sends and receives are matched by peer and direction") {
  std::vector<Dump> ranks = {Dump(0), Dump(1)};
  for (Dump& dump : ranks) dump.group("2", {0, 1}, "pp");
  ranks[0].message(0, "send 0->1", State::completed).message(0, "send 0->1", State::scheduled);
  ranks[1].message(0, "recv 1<-0", State::completed);
  const auto answer = answer_of(ranks);
  REQUIRE(answer);
  CHECK(answer->kind == GroupAnswer::Kind::absence);
  CHECK(answer->call.function == Function::send);
  CHECK(answer->call.ordinal == 2);
  // If the first calls are missing, messages cannot be numbered.
  for (Dump& dump : ranks) dump.is_whole = false;
  CHECK_FALSE(answer_of(ranks));
}

TEST_CASE("two stages that both send first wait in a circle") {
  std::vector<Dump> ranks = {Dump(0), Dump(1)};
  for (Dump& dump : ranks) dump.group("2", {0, 1}, "pp");
  ranks[0].message(0, "send 0->1", State::scheduled);
  ranks[1].message(0, "send 1->0", State::scheduled);
  CHECK(answer_of(ranks)->kind == GroupAnswer::Kind::circle);
}

TEST_CASE("the messages of a batch have finished when the batch has") {
  Dump dump(0);
  dump.group("2", {0, 1});
  dump.message(0, "send 0->1", State::scheduled, 1).message(0, "recv 0<-1", State::scheduled, 1);
  dump.message(0, "coalesced", State::completed, 1);
  CHECK(dump.state().unfinished.empty());
  dump.calls.back().state = State::scheduled;
  CHECK(dump.state().unfinished.size() == 1);
}

TEST_CASE("ranks that wait in several groups at once are not reported as having all come") {
  std::vector<Dump> ranks = {Dump(0), Dump(1)};
  for (Dump& dump : ranks) {
    const auto a = dump.group("1", {0, 1}, "a"), b = dump.group("2", {0, 1}, "b");
    dump.call(a, "all_reduce", State::scheduled).call(b, "all_reduce", State::scheduled);
  }
  CHECK_FALSE(answer_of(ranks));
}

TEST_CASE("groups with the same name but different ranks are different groups") {
  Dump zero(0), two(2);
  zero.group("5", {0, 1}, "tp"), two.group("5", {2, 3}, "tp");
  CHECK(zero.state().communicators[0].hash != two.state().communicators[0].hash);
  CHECK(two.state().communicators[0].rank == 0);
}

TEST_CASE("a group is ignored if the dump has none of its calls and lacks its first ones") {
  Dump dump(0);
  dump.group("0", {0, 1}), dump.group("1", {1, 2});
  CHECK(dump.state().communicators.size() == 1);
  dump.is_whole = false;
  CHECK(dump.state().communicators.empty());
}

TEST_CASE("the latest calls are kept, with their stacks") {
  Dump dump(0);
  dump.group("0", {0, 1});
  for (int line = 1; line <= 5; ++line)
    dump.call(0, "all_reduce", line < 5 ? State::completed : State::scheduled).at(line);
  const RankState state = dump.state(2);
  REQUIRE(state.calls.size() == 2);
  CHECK(state.communicators[0].collectives == 5);
  CHECK(state.unfinished == std::vector<std::vector<std::size_t>>{{1}});
  REQUIRE(state.calls[1].site == 2);
  CHECK(state.stacks[1][1].line == 5);
  CHECK(state.calls[0].line != state.calls[1].line);
}

TEST_CASE("sizes and types are those that all ranks have in common") {
  Dump dump(0);
  dump.group("0", {0, 1});
  dump.call(0, "_reduce_scatter_base");
  dump.calls.back().input = 8, dump.calls.back().output = 4;
  dump.call(0, "_all_gather_base");
  dump.calls.back().input = 4, dump.calls.back().output = 8;
  const RankState state = dump.state();
  CHECK(state.calls[0].count == 4);
  CHECK(state.calls[1].count == 4);
  CHECK(state.calls[0].type == Type::f32);
}

}  // namespace flight_rank_test
