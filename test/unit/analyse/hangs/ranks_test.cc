#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "analyse/analysis.h"
#include "analyse/rank_divergence.h"
#include "unit/analyse/picture_builder.h"

using namespace cudadiag;
using namespace cudadiag::analyse;

namespace {

using Difference = Ranks::Difference;

constexpr const char* kAllReduce = "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE";
constexpr const char* kAllGather = "_Z31ncclDevKernel_AllGather_RING_LL24ncclDevKernelArgsStorageILm4096EE";
constexpr const char* kSendRecv = "_Z22ncclDevKernel_SendRecv24ncclDevKernelArgsStorageILm4096EE";

// A process whose source lines are offsets in its executable. One tick is a tenth of a second.
class Rank : public PictureBuilder {
 public:
  explicit Rank(std::optional<int> rank, std::uint32_t pid = 100) {
    process.rank = rank;
    process.pid = pid + static_cast<std::uint32_t>(rank.value_or(0));
    session::ProcessRecord& record = process.record;
    record.state = wire::area::State::recording;
    record.errors.clear();
    record.frozen_error = 0;
    record.seconds_per_tick = 0.1;
    record.modules.push_back({"/home/ada/train", "", 0, 0, 0x10000});
    stream_ = stream(0);
  }

  // Adds a call site at offset `at`. `callers` are the outer frames of its stack, all in the program.
  std::uint32_t line(std::uint64_t at, const std::string& kernel = kAllReduce,
                     std::vector<std::uint64_t> callers = {}) {
    session::ProcessRecord& record = process.record;
    record.native_stacks.push_back({{{1, at}}, false});
    for (const std::uint64_t caller : callers) record.native_stacks.back().frames.push_back({1, caller});
    const std::uint32_t id = site(kernel);
    record.sites[id - 1].native = static_cast<std::uint32_t>(record.native_stacks.size());
    return id;
  }

  session::Operation& call(std::uint32_t line) {
    session::Operation& operation = issue_at(line, stream_);
    operation.grid = {1, 1, 1};
    process.record.clock_last = operation.ticks;
    return operation;
  }
  void call_many(std::uint32_t line, int count) {
    for (int i = 0; i < count; ++i) call(line);
  }

  // stand() leaves the last operation unfinished. finish() finishes all operations.
  Rank& stand() {
    session::Stream& stream = process.record.streams[stream_];
    process.record.operations.back().flags |= op::kMarked;
    stream.marker_issued = stream.issued;
    stream.marker = stream.issued - 1;
    return *this;
  }
  Rank& finish() {
    session::Stream& stream = process.record.streams[stream_];
    stream.marker = stream.marker_issued = stream.issued;
    return *this;
  }
  void lose(std::size_t count) {
    auto& operations = process.record.operations;
    operations.erase(operations.begin(), operations.begin() + static_cast<std::ptrdiff_t>(count));
  }

 private:
  std::uint32_t stream_;
};

std::vector<session::Process> job(const std::vector<Rank>& ranks) {
  std::vector<session::Process> processes;
  for (const Rank& rank : ranks) processes.push_back(rank.process);
  return processes;
}

session::Pass ended(int status) {
  session::Pass pass;
  pass.kind = session::PassKind::record;
  pass.folder = "record";
  pass.end.code = status;
  return pass;
}

// Makes the rank's thread block in its last call until the process ends.
void wait_in_call(Rank& rank) {
  session::Thread& thread = rank.process.record.threads[0];
  thread.state = wire::thread::State::live;
  thread.call_domain = wire::error::Domain::driver;
  thread.call_ticks = 10 * thread.published + 5;
  thread.blocked = {1, wire::thread::Wait::stream, 0, 0, 0, "cuStreamSynchronize", ""};
}

std::optional<Ranks> parted(const std::vector<session::Process>& processes) {
  std::vector<CollectiveSequence> sequences;
  for (const session::Process& process : processes) sequences.emplace_back(process);
  return parted_ranks(sequences);
}

}  // namespace

TEST_CASE("a collective is recognised by its kernel, and transfers between two ranks are not collectives") {
  CHECK(is_collective(kAllReduce));
  CHECK(is_collective("ncclSymkDevKernel_AllReduce_RSxLD_AGxST_sum_f32(ncclSymkDevWorkArgs4K)"));
  CHECK(!is_collective(kSendRecv));
  CHECK(!is_collective("nccl_like_kernel"));
}

TEST_CASE("a rank that has called fewer collectives has not come") {
  Rank first(0), second(1);
  first.call_many(first.line(0x10), 5);
  second.call_many(second.line(0x10), 4);
  const auto processes = job({first.stand(), second.finish()});
  const auto ranks = parted(processes);
  REQUIRE(ranks);
  CHECK(ranks->number == 5);
  CHECK(ranks->difference == Difference::none);
  CHECK(!ranks->all_have_come());
  REQUIRE(ranks->calls.size() == 2);
  CHECK(ranks->calls[0].process == 0);
  CHECK(ranks->calls[0].collective == processes[0].record.operations.size() - 1);
  CHECK(!ranks->calls[1].collective);
  CHECK(ranks->calls[1].issued == 4);
}

TEST_CASE("ranks diverge where they call at different lines, and not where they finally hang") {
  // The second rank skips its fifth all_reduce. Its barrier is a collective too, so the barrier becomes call 5.
  Rank first(0), second(1);
  const auto reduce = first.line(0x10), barrier = first.line(0x20);
  first.call_many(reduce, 5);
  first.call(barrier);
  const auto reduce_too = second.line(0x10), barrier_too = second.line(0x20);
  second.call_many(reduce_too, 4);
  second.call(barrier_too);
  const auto processes = job({second, first});
  const auto ranks = parted(processes);
  REQUIRE(ranks);
  CHECK(ranks->number == 5);
  CHECK(ranks->difference == Difference::line);
  CHECK(ranks->calls[0].rank == 0);
  CHECK(ranks->calls[0].process == 1);
  CHECK(processes[1].record.operations[*ranks->calls[0].collective].site == reduce);
  CHECK(processes[0].record.operations[*ranks->calls[1].collective].site == barrier_too);
}

TEST_CASE("the same line with a different kernel or number of blocks is reported as such") {
  Rank first(0), second(1), third(2);
  first.call(first.line(0x10));
  second.call(second.line(0x10)).grid = {24, 1, 1};
  auto processes = job({first, second});
  CHECK(parted(processes)->difference == Difference::blocks);
  third.call(third.line(0x10, kAllGather));
  processes = job({first, third});
  CHECK(parted(processes)->difference == Difference::kernel);
}

TEST_CASE("ranks that have made the same calls agree") {
  Rank first(0), second(1);
  for (Rank* rank : {&first, &second}) {
    rank->call_many(rank->line(0x10), 3);
    rank->call(rank->line(0x20, kAllGather));
    rank->stand();
  }
  auto processes = job({first, second});
  const auto ranks = parted(processes);
  REQUIRE(ranks);
  CHECK(ranks->agree());
  CHECK(ranks->number == 4);
  // The second rank has passed the collective, or is blocked in a different kernel.
  processes = job({first, second.finish()});
  CHECK(!parted(processes));
}

TEST_CASE("a rank without any collective is missing, and a process that is not a rank does not count") {
  Rank first(0), second(1), other(std::nullopt, 200);
  first.call(first.line(0x10));
  first.stand();
  other.issue(0);
  auto processes = job({first, second, other});
  const auto ranks = parted(processes);
  REQUIRE(ranks);
  CHECK(ranks->calls.size() == 2);
  CHECK(ranks->calls[1].issued == 0);
  processes = job({first, other});
  CHECK(!parted(processes));
}

TEST_CASE("processes without a rank that call collectives are ranks too") {
  Rank first(std::nullopt, 100), second(std::nullopt, 200);
  first.call_many(first.line(0x10), 2);
  second.call(second.line(0x10));
  const auto processes = job({first.stand(), second.finish()});
  const auto ranks = parted(processes);
  REQUIRE(ranks);
  CHECK(ranks->calls[1].pid == 200);
}

TEST_CASE("a second process of a rank does not replace the first if it calls no collectives") {
  Rank first(0), second(1), worker(1, 900);
  first.call(first.line(0x10));
  second.call(second.line(0x10));
  first.stand();
  second.stand();
  for (const auto& processes : {job({first, second, worker}), job({first, worker, second})}) {
    const auto ranks = parted(processes);
    REQUIRE(ranks);
    CHECK(ranks->agree());
    CHECK(ranks->calls.size() == 2);
  }
}

TEST_CASE("two processes of one rank that both call collectives leave the answer open") {
  Rank first(0), second(1), again(1, 900);
  first.call(first.line(0x10));
  second.call(second.line(0x10));
  again.call_many(again.line(0x10), 2);
  first.stand();
  auto processes = job({first.stand(), second.stand()});
  CHECK(parted(processes));
  processes = job({first, second, again});
  CHECK(!parted(processes));
}

TEST_CASE("ranks of a pipeline call different things intentionally") {
  Rank first(0), second(1);
  first.call(first.line(0x10));
  second.call(second.line(0x30));
  auto processes = job({first, second});
  CHECK(parted(processes));
  first.call(first.line(0x20, kSendRecv));
  processes = job({first, second});
  CHECK(!parted(processes));
}

TEST_CASE("ranks that continue for a long time after they differ do so intentionally") {
  for (const int more : {10, 100}) {
    Rank first(0), second(1);
    first.call(first.line(0x30));
    second.call(second.line(0x40));
    first.call_many(first.line(0x10), more);
    second.call_many(second.line(0x10), more);
    const auto processes = job({first, second});
    CHECK(parted(processes).has_value() == (more == 10));
  }
}

TEST_CASE("lost records are counted, and where the ranks diverge before them is unknown") {
  Rank first(0), second(1);
  const auto one = first.line(0x10), two = second.line(0x10);
  first.call_many(one, 60);
  second.call_many(two, 59);
  first.stand();
  second.finish();
  first.lose(40);
  second.lose(30);
  auto processes = job({first, second});
  const auto ranks = parted(processes);
  REQUIRE(ranks);
  CHECK(ranks->number == 60);
  CHECK(ranks->first == 41);
  CHECK(!ranks->calls[1].collective);
  // The first rank now has only records of calls that the second rank never reached.
  first.lose(19);
  processes = job({first, second});
  CHECK(parted(processes)->number == 60);
  Rank behind(2);
  behind.call_many(behind.line(0x10), 10);
  processes = job({first, second, behind});
  CHECK(!parted(processes));
}

TEST_CASE("a rank that skips a collective launches the kernels of two iterations") {
  // Each iteration has four kernels and a collective. A rank that skips the collective launches the next iteration's
  // kernels at once.
  const auto train = [](Rank& rank, int turns, std::vector<int> without, std::vector<int> with_more = {}) {
    const auto kernel = rank.line(0x30, "_Z4stepPf"), reduce = rank.line(0x10);
    const auto among = [](const std::vector<int>& list, int turn) {
      return std::find(list.begin(), list.end(), turn) != list.end();
    };
    for (int turn = 1; turn <= turns; ++turn) {
      rank.call_many(kernel, among(with_more, turn) ? 9 : 4);
      if (!among(without, turn)) rank.call(reduce);
    }
  };
  SUBCASE("one iteration") {
    Rank first(0), second(1), third(2);
    train(first, 9, {});
    train(second, 9, {5});
    train(third, 9, {});
    first.stand();
    second.finish();
    third.stand();
    const auto processes = job({first, second, third});
    const auto ranks = parted(processes);
    REQUIRE(ranks);
    CHECK(ranks->number == 9);
    CHECK(!ranks->all_have_come());
    REQUIRE(ranks->uneven);
    CHECK(ranks->uneven->number == 5);
    CHECK(ranks->uneven->rank == 1);
    CHECK(ranks->uneven->kernels == 8);
    CHECK(ranks->uneven->of_others == 4);
  }
  SUBCASE("more than one, perhaps intentionally") {
    Rank first(0), second(1);
    train(first, 12, {}, {4, 8});
    train(second, 11, {});
    CHECK(!parted(job({first.stand(), second.finish()}))->uneven);
  }
  SUBCASE("not without similar iterations before it") {
    Rank first(0), second(1);
    train(first, 9, {});
    train(second, 9, {2});
    CHECK(!parted(job({first.stand(), second.finish()}))->uneven);
  }
}

TEST_CASE("two threads that issue in any order do not make the ranks diverge") {
  Rank first(0), second(1);
  for (Rank* rank : {&first, &second}) {
    rank->process.record.threads.resize(2);
    const auto own = rank->line(0x10), backward = rank->line(0x20);
    const bool swapped = rank == &second;
    for (const auto line : {swapped ? backward : own, swapped ? own : backward}) {
      session::Operation& operation = rank->call(line);
      if (line != backward) continue;
      operation.thread = 1;
      operation.serial = ++rank->process.record.threads[1].published;
    }
    // Corrects the records: call() assigned both operations to the first thread, but that thread issued only one of
    // them.
    rank->process.record.threads[0].published = 1;
    for (auto& operation : rank->process.record.operations) operation.serial = 1;
  }
  auto processes = job({first, second});
  CHECK(!parted(processes));
  // If one thread issues both operations, their order makes the ranks diverge.
  for (session::Process& process : processes) {
    std::uint64_t serial = 0;
    for (auto& operation : process.record.operations) operation.thread = 0, operation.serial = ++serial;
    process.record.threads[0].published = serial;
    process.record.threads[1].published = 0;
  }
  CHECK(parted(processes)->difference == Difference::line);
}

TEST_CASE("callers of the line do not matter, and neither does the program's path") {
  Rank first(0), second(1);
  second.process.record.modules[0].path = "/tmp/job.1/train";
  first.call_many(first.line(0x10, kAllReduce, {0x100}), 3);
  second.call_many(second.line(0x10, kAllReduce, {0x200}), 2);
  const auto processes = job({first.stand(), second.finish()});
  const auto ranks = parted(processes);
  REQUIRE(ranks);
  CHECK(ranks->number == 3);
  CHECK(!ranks->all_have_come());
}

TEST_CASE("calls with unknown lines differ only by what they launch") {
  Rank first(0), second(1);
  for (Rank* rank : {&first, &second}) rank->process.record.modules[0].path = "/usr/lib/x86_64-linux-gnu/libtrain.so";
  first.call(first.line(0x10));
  second.call(second.line(0x20));
  CHECK(parted(job({first.stand(), second.stand()}))->agree());
}

TEST_CASE("a rank that waits in a collective is not missing, and if no rank waits in it, none is missing") {
  // Two of the ranks first call a collective in a separate group. The records of these two calls are lost.
  std::vector<Rank> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    Rank& made = ranks.emplace_back(rank);
    const auto line = made.line(0x10);
    if (rank < 2) made.call(made.line(0x50));
    made.call_many(line, 100);
    made.stand();
    made.lose(made.process.record.operations.size() - 50);
  }
  CHECK(!parted(job(ranks)));
  Rank first(0), second(1);
  first.call_many(first.line(0x10), 2);
  second.call(second.line(0x10));
  CHECK(parted(job({first.stand(), second.finish()})));
  CHECK(!parted(job({first.finish(), second.finish()})));
}

TEST_CASE("two jobs of one command are not compared, and a process that ended before a job is not its rank") {
  Rank first({}, 100), second({}, 101), third({}, 200), fourth({}, 201);
  for (Rank* rank : {&first, &second}) rank->call_many(rank->line(0x10), 3);
  for (Rank* rank : {&third, &fourth}) {
    rank->process.record.start_realtime = 100'000'000'000;
    rank->call_many(rank->line(0x10), 2);
    rank->stand();
  }
  CHECK(parted(job({third, fourth})));
  CHECK(!parted(job({first.finish(), second.finish(), third, fourth})));
  Rank helper(3, 50);
  helper.issue(0);
  helper.process.record.clock_last = helper.process.record.operations.back().ticks;
  const auto processes = job({helper, third, fourth});
  REQUIRE(parted(processes));
  CHECK(parted(processes)->calls.size() == 2);
}

TEST_CASE("ranks that are not completely recorded are not compared") {
  const auto changed = [](auto change) {
    Rank first(0), second(1);
    first.call_many(first.line(0x10), 4);
    second.call_many(second.line(0x10), 3);
    first.stand();
    second.finish();
    change(second);
    return parted(job({first, second})).has_value();
  };
  CHECK(changed([](Rank&) {}));
  CHECK(!changed([](Rank& rank) { rank.process.record.dropped_interns = 1; }));
  CHECK(!changed([](Rank& rank) { rank.process.record.dropped_operations = 1; }));
  CHECK(!changed([](Rank& rank) { rank.process.record.damaged = 1; }));
  CHECK(!changed([](Rank& rank) { rank.process.record.operations[0].flags |= op::kCaptured; }));
  CHECK(!changed([](Rank& rank) {
    session::Graph& graph = rank.process.record.graphs.emplace_back();
    graph.nodes.emplace_back().function = 1;
  }));
  CHECK(!changed([](Rank& rank) {
    rank.process.record.sites[0].function = 0;
    rank.call(1);
  }));
}

TEST_CASE("a rank's own hanging kernel comes before the collective that waits for it") {
  Rank first(0), second(1);
  first.call_many(first.line(0x10), 3);
  const auto kernel = second.line(0x70, "_Z4spinPi"), reduce = second.line(0x10);
  second.call_many(reduce, 2);
  second.call(kernel).flags |= op::kMarked;
  second.call(reduce).flags |= op::kMarked;
  second.process.record.streams[0].marker = 2;
  second.process.record.streams[0].marker_issued = 4;
  session::Session session;
  session.processes = job({first.stand(), second});
  session.manifest.hang = 60;
  const Analysis analysis = analyse::analyse(session);
  REQUIRE(analysis.failures.size() == 2);
  CHECK(analysis.failures.front().process->rank == 1);
  CHECK(!analysis.ranks);
}

TEST_CASE("a job that was ended after a long wait for a rank has hung, but a job that was ended at work has not") {
  for (const std::uint64_t seconds : {5, 60}) {
    session::Session session;
    Rank first(0), second(1);
    const auto line = first.line(0x10);
    first.call_many(line, 2);
    first.process.record.operations.back().flags |= op::kMarked;
    first.process.record.streams[0].marker_issued = 2;
    first.process.record.streams[0].marker = 1;
    second.call(second.line(0x10));
    second.process.record.streams[0].marker = second.process.record.streams[0].host_completed = 1;
    first.process.record.clock_last += 10 * seconds;
    wait_in_call(first);
    session.processes = job({first, second});
    session.manifest.passes = {ended(1)};
    const Analysis analysis = analyse::analyse(session);
    if (seconds == 5) {
      CHECK(analysis.failures.empty());
      CHECK(!analysis.ranks);
      continue;
    }
    REQUIRE(analysis.failures.size() == 1);
    CHECK(analysis.failures.front().kind == Kind::hang);
    CHECK(analysis.failures.front().evidence.grade() == Grade::bracketed);
    CHECK(analysis.failures.front().hang->seconds == 60);
    REQUIRE(analysis.ranks);
    CHECK(analysis.ranks->number == 2);
  }
}

TEST_CASE("a job that was asked to end, or ended with a failed process, has not hung") {
  const auto found = [](auto change) {
    Rank first(0), second(1);
    first.call_many(first.line(0x10), 2);
    first.stand();
    second.call(second.line(0x10));
    second.finish();
    first.process.record.clock_last += 600;
    second.process.record.clock_last += 600;
    wait_in_call(first);
    session::Session session;
    session.manifest.passes = {ended(1)};
    change(session, first, second);
    session.processes = job({first, second});
    const Analysis analysis = analyse::analyse(session);
    return std::pair(analysis.failures.size(), analysis.ranks.has_value());
  };
  const std::pair<std::size_t, bool> hang{1, true}, nothing{0, false};
  CHECK(found([](auto&, Rank&, Rank&) {}) == hang);
  CHECK(found([](auto&, Rank& first, Rank&) { first.process.end = session::ProcessEnd{{}, 6}; }) == hang);
  CHECK(found([](auto& session, Rank&, Rank&) { session.manifest.asked_to_end = true; }) == nothing);
  CHECK(found([](auto& session, Rank&, Rank&) {
          session.manifest.passes[0].cut_short = session::CutShort::time_limit;
        }) == nothing);
  CHECK(found([](auto& session, Rank& first, Rank&) {
          session.manifest.passes[0].end = {{}, 15};
          first.process.end = session::ProcessEnd{{}, 15};
        }) == nothing);
  // One rank fails in an evaluation, and the parent of both ranks then kills the other rank.
  CHECK(found([](auto&, Rank&, Rank& second) { second.process.record.exit_status = 1; }).first == 0);
  // The first rank was already exiting when it was killed.
  CHECK(found([](auto&, Rank& first, Rank&) {
          first.process.record.threads[0].blocked = {};
          first.process.record.exit_status = 1;
        }).first == 0);
}

TEST_CASE("if the library gave up and nothing is unfinished, the ranks of a failed job are compared") {
  for (const int status : {0, 1}) {
    session::Session session;
    Rank first(0), second(1);
    for (Rank* rank : {&first, &second}) {
      const auto reduce = rank->line(0x10), barrier = rank->line(0x20);
      rank->call_many(reduce, rank == &first ? 2 : 1);
      rank->call(barrier);
      auto& stream = rank->process.record.streams[0];
      stream.marker = stream.marker_issued = stream.issued;
    }
    first.process.record.clock_last += 300;
    first.process.end = session::ProcessEnd{status, {}};
    session.processes = job({first, second});
    session.manifest.passes = {ended(status)};
    const Analysis analysis = analyse::analyse(session);
    CHECK(analysis.failures.empty());
    CHECK(analysis.ranks.has_value() == (status == 1));
    CHECK(analysis.verdict == (status == 1 ? Verdict::inconclusive : Verdict::no_cuda_failure));
    if (status == 1) CHECK(analysis.notes.front().code == analyse::NoteCode::ranks_part);
  }
}
