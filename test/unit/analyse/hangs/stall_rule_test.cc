#include "analyse/stall_rule.h"

#include <doctest/doctest.h>

#include <utility>

#include "analyse/analysis.h"
#include "analyse/hang.h"
#include "session/session.h"
#include "unit/analyse/picture_builder.h"

using namespace cudadiag;
using namespace cudadiag::analyse;

namespace {

constexpr double kLimit = 3;

// A process in which a marker follows every operation. One tick is a millisecond, and `now` is in seconds.
struct Live : PictureBuilder {
  Live() {
    auto& record = process.record;
    record.state = wire::area::State::recording;
    record.start_realtime = 5;
    record.errors.clear();
    record.seconds_per_tick = 0.001;
  }

  std::uint32_t own_stream() {
    const std::uint32_t index = stream(0);
    process.record.streams[index].flags = wire::stream::kNonBlocking;
    return index;
  }
  session::Operation& begin(std::uint32_t on, op::Kind kind = op::Kind::kernel, std::uint64_t argument = 0) {
    session::Operation& operation = issue(on, kind, op::kMarked, argument);
    operation.ticks = static_cast<std::uint64_t>(now * 1000);
    operation.site = static_cast<std::uint32_t>(kind) + 100 * on;
    return operation;
  }
  void end(std::uint32_t on) { ++process.record.streams[on].marker; }

  // Calls look() every tenth of a second until `time`, and returns the stalls that were found.
  std::vector<session::Stall> until(double time) {
    std::vector<session::Stall> found;
    while (now < time - 1e-9) {
      now += 0.1;
      process.record.clock_last = static_cast<std::uint64_t>(now * 1000);
      std::vector<session::StreamProgress> streams;
      for (const session::Stream& each : process.record.streams) {
        streams.push_back({1, each.issued, each.completed(), each.marker_issued});
      }
      if (!rule.look(now, streams)) continue;
      for (session::Stall& stall : rule.judge(now, process, others_work)) found.push_back(std::move(stall));
    }
    return found;
  }
  std::size_t count(double time) { return until(time).size(); }

  explicit Live(double far_longer) : Live() { rule = StallRule(kLimit, far_longer); }

  StallRule rule{kLimit};
  double now = 0.1;
  bool others_work = false;
};

}  // namespace

TEST_CASE("a line may take as many times longer than before as the rule says") {
  for (const auto& [far_longer, found] : {std::pair(4.0, 1u), std::pair(10.0, 0u)}) {
    Live run(far_longer);
    const auto stream = run.own_stream();
    run.begin(stream);
    CHECK(run.count(2) == 0);
    run.end(stream);
    CHECK(run.count(2.1) == 0);
    run.begin(stream);
    CHECK(run.count(11) == found);
    CHECK(run.count(30) == 1 - found);
  }
}

TEST_CASE("a kernel that has not finished after the limit is found once") {
  Live run;
  const auto stream = run.own_stream();
  run.begin(stream);
  CHECK(run.count(3) == 0);
  const auto found = run.until(30);
  REQUIRE(found.size() == 1);
  CHECK(found[0].operations.front().ordinal == 1);
  CHECK(found[0].seconds == doctest::Approx(kLimit).epsilon(0.1));
  CHECK(found[0].certain);
  CHECK(run.rule.take_ended().empty());
  run.end(stream);
  CHECK(run.count(30.1) == 0);
  const auto ended = run.rule.take_ended();
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].stall == 0);
  CHECK(ended[0].seconds == doctest::Approx(30).epsilon(0.1));
}

TEST_CASE("kernels that each finish in time are ordinary, however many are queued") {
  Live run;
  const auto stream = run.own_stream();
  for (int i = 0; i < 8; ++i) run.begin(stream);
  for (int i = 1; i <= 8; ++i) {
    CHECK(run.count(2.5 * i) == 0);
    run.end(stream);
  }
  CHECK(run.count(30) == 0);
}

TEST_CASE("a line that has taken long before may take four times as long") {
  Live run;
  const auto stream = run.own_stream();
  run.begin(stream);
  CHECK(run.count(2) == 0);
  run.end(stream);
  run.begin(stream);
  SUBCASE("and is not found earlier") {
    CHECK(run.count(2 + 7) == 0);
    CHECK(run.count(2 + 9) == 1);
  }
  SUBCASE("which says nothing about other lines") {
    run.process.record.operations.back().site = 7;
    CHECK(run.count(2 + 4) == 1);
  }
}

TEST_CASE("a stalled stream is found while another one makes progress") {
  Live run;
  const auto stuck = run.own_stream(), busy = run.own_stream();
  run.begin(stuck);
  std::size_t found = 0;
  for (int i = 1; i < 100; ++i) {
    run.begin(busy);
    found += run.count(0.1 + 0.1 * i);
    run.end(busy);
  }
  CHECK(found == 1);
}

TEST_CASE("a stream that waits for the event of a progressing one is ordinary") {
  Live run;
  const auto first = run.own_stream(), second = run.own_stream();
  for (int i = 0; i < 12; ++i) run.begin(first);
  run.begin(first, op::Kind::event_record, 0xe0);
  run.begin(second, op::Kind::event_wait, 0xe0);
  run.begin(second);
  for (int i = 1; i <= 12; ++i) {
    CHECK(run.count(i) == 0);
    run.end(first);
  }
  SUBCASE("until that one stalls") {
    run.process.record.streams[first].marker = 11;
    const auto found = run.until(20);
    REQUIRE(found.size() == 1);
    CHECK(found[0].operations.front().stream == first);
  }
}

TEST_CASE("a stream that waits for a value is explained by the stream that should write it") {
  Live run;
  const auto waits = run.own_stream(), writes = run.own_stream();
  run.begin(waits, op::Kind::memory_operation, 0xa0).memory_operation = op::MemoryOperation::wait_equal;
  run.begin(writes);
  run.begin(writes, op::Kind::memory_operation, 0xa0).memory_operation = op::MemoryOperation::write;
  const auto found = run.until(20);
  REQUIRE(found.size() == 1);
  CHECK(found[0].operations.size() == 1);
  CHECK(found[0].operations.front().stream == writes);
}

TEST_CASE("streams that may wait for each other are ordinary while one of them progresses") {
  Live run;
  const auto first = run.own_stream(), second = run.own_stream();
  // The recorder missed some records of events, so it is unknown for which operations the streams wait.
  run.process.record.events_unseen = 1;
  run.begin(first, op::Kind::event_wait, 0xe0);
  for (int i = 0; i < 10; ++i) run.begin(second, op::Kind::event_wait, 0xe1);
  for (int i = 1; i < 10; ++i) {
    CHECK(run.count(2 * i) == 0);
    run.end(second);
  }
  SUBCASE("and stall together if none does") {
    const auto found = run.until(40);
    REQUIRE(found.size() == 1);
    CHECK(found[0].operations.size() == 2);
    CHECK(!found[0].certain);
  }
}

TEST_CASE("a kernel after a long one on a full GPU is ordinary") {
  Live run;
  const auto first = run.own_stream(), second = run.own_stream();
  run.begin(first);
  CHECK(run.count(2) == 0);
  run.end(first);
  run.begin(first);  // the kernels of this line take a long time
  run.until(2.2);
  run.begin(second);
  CHECK(run.count(2 + 7) == 0);
  SUBCASE("also if that one stalls, because it may be the reason") {
    const auto found = run.until(30);
    REQUIRE(found.size() == 1);
    CHECK(found[0].operations.front().stream == first);
  }
  SUBCASE("until that one has finished, when this kernel's own time begins") {
    run.end(first);
    CHECK(run.count(2 + 7 + 2.9) == 0);
    CHECK(run.count(2 + 7 + 5) == 1);
  }
  SUBCASE("but not if others finish alongside that one, once it stalls") {
    const auto third = run.own_stream();
    std::size_t found = 0;
    for (int i = 1; i < 100; ++i) {
      run.begin(third);
      found += run.count(9 + 0.2 * i);
      run.end(third);
    }
    CHECK(found == 2);
  }
}

TEST_CASE("a kernel after a long one of a slow line is ordinary, even if others finish alongside that one") {
  Live run;
  const auto first = run.own_stream(), second = run.own_stream(), third = run.own_stream();
  run.begin(first);
  run.count(20);
  run.end(first);
  run.begin(first);
  run.until(20.2);
  run.begin(second);
  std::size_t found = 0;
  for (int i = 1; i < 100; ++i) {
    run.begin(third);
    found += run.count(20.2 + 0.2 * i);
    run.end(third);
  }
  CHECK(found == 0);
}

TEST_CASE("a kernel's time begins when an older one has left the GPU") {
  Live run;
  const auto first = run.own_stream(), second = run.own_stream();
  run.begin(first);
  run.until(0.2);
  run.begin(second);
  CHECK(run.count(2.9) == 0);
  run.end(first);
  CHECK(run.count(2.9 + 2.9) == 0);
  CHECK(run.count(2.9 + 4) == 1);
}

TEST_CASE("a blocking stream's time begins when the legacy stream is done") {
  Live run;
  const auto legacy = run.stream(0), second = run.stream(0);
  run.process.record.streams[legacy].flags = wire::stream::kLegacy;
  for (int i = 0; i < 4; ++i) run.begin(legacy);
  run.until(0.2);
  run.begin(second);
  for (int i = 1; i <= 4; ++i) {
    CHECK(run.count(2 * i) == 0);
    run.end(legacy);
  }
  CHECK(run.count(8 + 2.9) == 0);
  CHECK(run.count(8 + 6) == 1);
}

TEST_CASE("a host function does not keep a kernel from starting") {
  Live run;
  const auto first = run.own_stream(), second = run.own_stream();
  run.begin(first, op::Kind::host_function);
  run.until(0.2);
  run.begin(second, op::Kind::host_function);
  const auto third = run.own_stream();
  run.begin(third);
  const auto found = run.until(10);
  REQUIRE(found.size() == 2);
  CHECK(found[0].operations.front().stream == first);
  CHECK(found[1].operations.front().stream == third);
}

TEST_CASE("a launch that is still inside its call has no marker, and its time has not begun") {
  Live run;
  const auto stream = run.own_stream();
  run.begin(stream).flags = 0;
  run.process.record.streams[stream].marker_issued = 0;
  CHECK(run.count(10) == 0);
  run.process.record.streams[stream].marker_issued = 1;
  run.process.record.operations.back().flags = op::kMarked | op::kReturned;
  CHECK(run.count(12.5) == 0);
  CHECK(run.count(13.5) == 1);
}

TEST_CASE("with sparse markers, each operation between two may take as long") {
  Live run;
  const auto stream = run.own_stream();
  for (int i = 0; i < 4; ++i) run.begin(stream).flags = op::kReturned;
  run.begin(stream);
  CHECK(run.count(5 * kLimit - 0.5) == 0);
  const auto found = run.until(5 * kLimit + 2);
  REQUIRE(found.size() == 1);
  CHECK(found[0].operations.size() == 5);
  CHECK(!found[0].certain);
}

TEST_CASE("work without a later marker may have finished") {
  Live run;
  const auto stream = run.own_stream();
  run.begin(stream).flags = op::kReturned;
  run.process.record.streams[stream].marker_issued = 0;
  CHECK(run.count(30) == 0);
}

TEST_CASE("an entry that another stream has taken over starts again from zero") {
  Live run;
  const auto stream = run.own_stream();
  run.begin(stream);
  CHECK(run.count(2.5) == 0);
  run.process.record.streams[stream].created = 77;
  std::vector<session::StreamProgress> streams = {{77, 1, 0, 1}};
  run.now += 0.1;
  run.rule.look(run.now, streams);
  CHECK(run.rule.judge(run.now + 1, run.process, false).empty());
}

TEST_CASE("a stall that is read back from the manifest gives the same hang") {
  Live run;
  const auto stream = run.own_stream();
  run.begin(stream, op::Kind::memory_operation, 0xa0).memory_operation = op::MemoryOperation::wait_equal;
  auto& thread = run.process.record.threads[0];
  thread.state = wire::thread::State::live;
  thread.tid = 12;
  thread.call_domain = wire::error::Domain::driver;
  thread.call_ticks = 200;
  thread.blocked = {9, wire::thread::Wait::stream, stream, 0, 0, "cuStreamSynchronize", "cudaStreamSynchronize"};
  session::Manifest manifest;
  manifest.stalls = run.until(4);
  REQUIRE(manifest.stalls.size() == 1);
  manifest.stalls[0].ended_after = 8.5;
  const auto read = std::get<session::Manifest>(session::parse_manifest(session::write_manifest(manifest)));
  REQUIRE(read.stalls.size() == 1);
  run.process.record.operations.clear();
  const auto failure = hang_again(run.process, read.stalls[0]);
  REQUIRE(failure);
  CHECK(failure->kind == Kind::hang);
  CHECK(failure->evidence.grade() == Grade::bracketed);
  CHECK(failure->evidence ==
        "no operation of stream 0x100 is known to have finished; operation 1 is the only one that the stream can be "
        "executing; cudadiag saw no earlier call on its line take 0.8 s");
  CHECK(failure->hang->stall == &read.stalls[0]);
  CHECK(failure->hang->stall->ended_after == 8.5);
  REQUIRE(failure->hang->wait);
  CHECK(failure->hang->wait->what == StreamWait::For::value);
  REQUIRE(failure->hang->thread != nullptr);
  CHECK(failure->hang->thread->tid == 12);
  CHECK(failure->hang->thread->blocked.outer == "cudaStreamSynchronize");
  CHECK(failure->hang->site == 9);
  CHECK(failure->candidates.front().operation->argument == 0xa0);
}

TEST_CASE("a stall that does not fit its process is ignored") {
  Live run;
  const auto stream = run.own_stream();
  run.begin(stream);
  std::vector<session::Stall> stalls = run.until(4);
  REQUIRE(stalls.size() == 1);
  CHECK(hang_again(run.process, stalls[0]));
  CHECK(is_of(stalls[0], run.process));
  SUBCASE("it has no operation") { stalls[0].operations.clear(); }
  SUBCASE("its stream does not exist") { stalls[0].operations[0].stream = 9; }
  SUBCASE("its thread does not exist") { stalls[0].operations[0].thread = 9; }
  SUBCASE("what it waits for does not exist") {
    stalls[0].recorded = stalls[0].operations[0];
    stalls[0].recorded->stream = 9;
  }
  CHECK(!hang_again(run.process, stalls[0]));
}

TEST_CASE("a hang at the end of the run replaces its stall") {
  session::Session session;
  Live run;
  const auto stream = run.own_stream();
  run.begin(stream);
  session.manifest.stalls = run.until(4);
  session.processes.push_back(run.process);
  session.manifest.passes.emplace_back();
  const Analysis before = analyse::analyse(session);
  REQUIRE(before.failures.size() == 1);
  CHECK(before.failures[0].hang->stall == session.manifest.stalls.data());
  session.manifest.hang = 60;
  const Analysis after = analyse::analyse(session);
  REQUIRE(after.failures.size() == 1);
  CHECK(after.failures[0].hang->stall == nullptr);
  CHECK(after.failures[0].hang->seconds == 60);
}

TEST_CASE("a kernel of NCCL gets more time while another process works") {
  Live run;
  const auto stream = run.own_stream();
  run.begin(stream).site = run.site("ncclDevKernel_AllReduce_Sum_f32_RING_LL");
  run.others_work = true;
  CHECK(run.count(kFarLate * kLimit - 1) == 0);
  CHECK(run.count(kFarLate * kLimit + 2) == 1);
}

TEST_CASE("a kernel of NCCL stalls after the limit once no other process works") {
  Live run;
  const auto stream = run.own_stream();
  run.begin(stream).site = run.site("ncclDevKernel_AllReduce_Sum_f32_RING_LL");
  run.others_work = true;
  CHECK(run.count(5) == 0);
  run.others_work = false;
  CHECK(run.count(5 + kLimit + 0.5) == 1);
}

TEST_CASE("another kernel stalls although another process works") {
  Live run;
  const auto stream = run.own_stream();
  run.begin(stream).site = run.site("spin");
  run.others_work = true;
  CHECK(run.count(kLimit + 0.5) == 1);
}
