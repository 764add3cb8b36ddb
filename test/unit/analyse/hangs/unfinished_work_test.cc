#include "analyse/unfinished_work.h"

#include <doctest/doctest.h>

#include "unit/analyse/picture_builder.h"

using namespace cudadiag;
using namespace cudadiag::analyse;
using session::Operation;
using wire::thread::Wait;

namespace {

// A running process with 10 ticks per second. It was read half a minute after its last operation.
struct Running : PictureBuilder {
  Running() {
    auto& record = process.record;
    record.state = wire::area::State::recording;
    record.errors.clear();
    record.sites.resize(1);
    record.seconds_per_tick = 0.1;
  }

  session::Thread& wait(Wait kind, std::uint32_t stream = op::kNoStream, std::uint64_t event = 0) {
    session::Thread& thread = process.record.threads[0];
    thread.state = wire::thread::State::live;
    thread.call_domain = wire::error::Domain::driver;
    thread.call_ticks = 10 * thread.published + 5;
    thread.blocked = {1, kind, stream, 0, event, "a call", ""};
    return thread;
  }

  UnfinishedWork look() {
    process.record.clock_last = 10 * process.record.threads[0].published + 300;
    return unfinished_work(process.record);
  }
};

std::vector<std::uint32_t> ordinals(const std::vector<const Operation*>& operations) {
  std::vector<std::uint32_t> found;
  for (const Operation* operation : operations) found.push_back(operation->ordinal);
  return found;
}

using Ordinals = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("a marker that is not written proves that its stream is unfinished") {
  Running run;
  const auto stream = run.stream(0);
  run.process.record.streams[stream].marker = 1;
  run.issue(stream, op::Kind::kernel, op::kMarked);
  run.issue(stream, op::Kind::kernel, op::kMarked);
  run.issue(stream);
  const auto work = run.look();
  REQUIRE(work.streams.size() == 1);
  CHECK(work.streams[0].proven());
  CHECK(ordinals(work.streams[0].candidates) == Ordinals{2});
  CHECK(ordinals(work.streams[0].operations) == Ordinals{2, 3});
  CHECK(standing_streams(work).size() == 1);
}

TEST_CASE("operations without a later marker prove nothing") {
  Running run;
  const auto stream = run.stream(0);
  run.issue(stream, op::Kind::kernel, op::kMarked);
  run.process.record.streams[stream].marker = 1;
  run.issue_many(stream, 13);
  const auto work = run.look();
  REQUIRE(work.streams.size() == 1);
  CHECK(!work.streams[0].proven());
  CHECK(work.streams[0].candidates.size() == 13);
  CHECK(standing_streams(work).empty());
}

TEST_CASE("a thread that waits for a stream proves that something issued before is unfinished") {
  Running run;
  const auto stream = run.stream(0);
  run.issue_many(stream, 3);
  run.wait(Wait::stream, stream);
  CHECK(run.look().streams[0].bound == 3);
  // A call that has only just begun is not proven to be blocked.
  run.process.record.threads[0].call_ticks += 300;
  CHECK(!run.look().streams[0].proven());
}

TEST_CASE("operations issued after the wait began are not proven to be unfinished") {
  Running run;
  const auto stream = run.stream(0);
  run.issue(stream);
  run.wait(Wait::stream, stream);
  run.issue(stream);
  CHECK(run.look().streams[0].bound == 1);
}

TEST_CASE("a wait for a context identifies the stream only if just one is possible") {
  Running run;
  const auto first = run.stream(0);
  run.issue_many(first, 2);
  run.wait(Wait::context);
  CHECK(run.look().streams[0].bound == 2);
  const auto second = run.stream(0);
  run.issue(second);
  run.wait(Wait::context);
  for (const auto& stream : run.look().streams) CHECK(!stream.proven());
}

TEST_CASE("a stream that waits for another one's event does not cause the hang") {
  Running run;
  const auto first = run.stream(0), second = run.stream(0);
  run.issue(first, op::Kind::kernel, op::kMarked);
  run.issue(first, op::Kind::event_record, 0, 0xe1);
  run.issue(second, op::Kind::event_wait, op::kMarked, 0xe1);
  run.issue(second);
  const auto work = run.look();
  REQUIRE(work.streams.size() == 2);
  const auto& waiting = work.streams[1];
  CHECK(ordinals(waiting.candidates) == Ordinals{1});
  REQUIRE(waiting.waits.size() == 1);
  CHECK(waiting.waits[0].what == StreamWait::For::stream);
  CHECK(waiting.waits[0].recorded->ordinal == 2);
  const auto standing = standing_streams(work);
  REQUIRE(standing.size() == 1);
  CHECK(standing[0]->index == first);
}

TEST_CASE("waits for events that completed, or were never recorded, block nothing") {
  Running run;
  const auto first = run.stream(0), second = run.stream(0);
  run.issue(first, op::Kind::event_record, op::kMarked, 0xe1);
  run.process.record.streams[first].marker = 1;
  run.issue(second, op::Kind::event_wait, 0, 0xe1);
  run.issue(second, op::Kind::event_wait, 0, 0xe2);
  run.issue(second, op::Kind::kernel, op::kMarked);
  const auto work = run.look();
  REQUIRE(work.streams.size() == 1);
  CHECK(ordinals(work.streams[0].candidates) == Ordinals{3});
  CHECK(work.streams[0].waits.empty());
}

TEST_CASE("a wait whose call overlapped with another thread's recording of the event may wait for it") {
  Running run;
  run.process.record.threads.resize(2);
  const auto first = run.stream(0), second = run.stream(0);
  auto& operations = run.process.record.operations;
  run.issue(first);
  run.issue(second, op::Kind::event_wait, op::kMarked, 0xe0);
  // The event is recorded by a call that begins after the wait, but the two calls overlap. The recording may therefore
  // take effect first.
  auto& record = run.issue(first, op::Kind::event_record, 0, 0xe0);
  record.thread = 1;
  record.serial = run.process.record.threads[1].published = 1;
  --run.process.record.threads[0].published;
  const auto waiting = [&](const UnfinishedWork& work) { return work.streams.back().candidates.size() == 1; };
  SUBCASE("until its thread issues something else") {
    auto work = run.look();
    REQUIRE(work.streams.size() == 2);
    CHECK(waiting(work));
    CHECK(work.streams.back().waits_for_any);
    CHECK(standing_streams(work).size() == 2);
    run.issue(second).ticks = 25;
    CHECK_FALSE(waiting(run.look()));
  }
  SUBCASE("unless both are from one thread") {
    record.thread = 0;
    record.serial = ++run.process.record.threads[0].published;
    run.process.record.threads[1].published = 0;
    CHECK_FALSE(waiting(run.look()));
  }
  SUBCASE("unless the recording has finished") {
    run.process.record.streams[first].marker = 2;
    CHECK_FALSE(waiting(run.look()));
  }
  SUBCASE("unless the recording has finished, and an older one may be lost") {
    run.process.record.streams[first].marker = 2;
    run.process.record.threads[0].published += 1;
    run.process.record.operations[1].serial += 1;  // the record before this one is missing
    CHECK(waiting(run.look()));
  }
  SUBCASE("if the recording's own call may have taken effect later, the previous recording counts, too") {
    operations[1].ticks = 35;
    run.process.record.streams[first].marker = 1;
    auto& earlier = run.issue(first, op::Kind::event_record, 0, 0xe0);
    earlier.ticks = 15;
    const auto work = run.look();
    CHECK(waiting(work));
    CHECK(work.streams.back().waits_for_any);
  }
}

TEST_CASE("a thread that waits for an event proves that its recording is unfinished") {
  Running run;
  run.process.record.threads.resize(2);
  const auto first = run.stream(0), second = run.stream(0);
  run.issue(first);
  run.issue(first, op::Kind::event_record, 0, 0xe1);
  const auto by_another = [&](Operation& operation, std::uint64_t ticks) {
    operation.thread = 1;
    operation.serial = run.process.record.threads[1].published = 1;
    --run.process.record.threads[0].published;
    operation.ticks = ticks;
  };
  SUBCASE("by itself") {
    run.wait(Wait::event, op::kNoStream, 0xe1);
    const auto work = run.look();
    REQUIRE(work.threads.size() == 1);
    CHECK(work.threads[0].stream == first);
    REQUIRE(work.streams.size() == 1);
    CHECK(work.streams[0].bound == 2);
  }
  SUBCASE("not if another thread is recording it elsewhere at that moment") {
    const std::uint64_t began = run.wait(Wait::event, op::kNoStream, 0xe1).call_ticks;
    by_another(run.issue(second, op::Kind::event_record, 0, 0xe1), began);
    const auto work = run.look();
    CHECK(!work.threads[0].stream);
    for (const auto& stream : work.streams) CHECK(!stream.proven());
  }
  SUBCASE("also if another thread recorded it earlier, and that recording has finished") {
    by_another(run.issue(second, op::Kind::event_record, 0, 0xe1), 22);
    run.process.record.streams[first].marker = 2;
    run.wait(Wait::event, op::kNoStream, 0xe1);
    const auto work = run.look();
    CHECK(work.threads[0].stream == second);
    REQUIRE(work.streams.size() == 1);
    CHECK(work.streams[0].proven());
  }
  SUBCASE("either of two recordings on one stream may be meant") {
    by_another(run.issue(first, op::Kind::event_record, 0, 0xe1), 22);
    run.wait(Wait::event, op::kNoStream, 0xe1);
    CHECK(run.look().streams[0].bound == 3);
  }
}

TEST_CASE("for a wait for a value, the write that is queued for it is named") {
  Running run;
  const auto first = run.stream(0), second = run.stream(0);
  run.issue(first, op::Kind::memory_operation, op::kMarked, 0xa0).memory_operation = op::MemoryOperation::wait_equal;
  auto work = run.look();
  REQUIRE(work.streams[0].waits.size() == 1);
  CHECK(work.streams[0].waits[0].write == nullptr);
  run.issue(second);
  run.issue(second, op::Kind::memory_operation, 0, 0xa0).memory_operation = op::MemoryOperation::write;
  work = run.look();
  REQUIRE(work.streams[0].waits[0].write != nullptr);
  CHECK(work.streams[0].waits[0].write->stream == second);
  // A write to memory never blocks its stream.
  CHECK(ordinals(work.streams[1].candidates) == Ordinals{1});
}

TEST_CASE("a thread inside a copy to the host waits for that copy") {
  Running run;
  const auto stream = run.stream(0);
  run.issue(stream);
  session::Thread& thread = run.wait(Wait::stream, stream);
  run.issue(stream, op::Kind::copy).flags = op::kBlocking;
  const auto work = run.look();
  REQUIRE(work.threads.size() == 1);
  CHECK(work.threads[0].thread == &thread);
  REQUIRE(work.threads[0].operation != nullptr);
  CHECK(work.threads[0].operation->ordinal == 2);
  CHECK(work.streams[0].bound == 2);
}

TEST_CASE("work of a destroyed context does not count") {
  Running run;
  const auto stream = run.stream(0);
  run.issue(stream, op::Kind::kernel, op::kMarked);
  run.process.record.contexts[0].state = wire::context::State::destroyed;
  CHECK(run.look().streams.empty());
}

TEST_CASE("lost records of operations at which a stream may be blocked are counted") {
  Running run;
  const auto stream = run.stream(0);
  run.issue_many(stream, 3);
  run.issue(stream, op::Kind::kernel, op::kMarked);
  auto& operations = run.process.record.operations;
  operations.erase(operations.begin() + 1);
  const auto work = run.look();
  CHECK(work.streams[0].missing == 1);
  CHECK(ordinals(work.streams[0].candidates) == Ordinals{1, 3, 4});
}

TEST_CASE("the operations of failed calls are neither unfinished nor lost") {
  Running run;
  const auto stream = run.stream(1), other = run.stream(0);
  run.issue(stream, op::Kind::kernel, op::kMarked);
  run.issue(stream, op::Kind::copy).result = 700;
  run.issue(other, op::Kind::copy).result = 700;
  run.issue(other, op::Kind::kernel, op::kMarked);
  const auto work = run.look();
  REQUIRE(work.streams.size() == 1);
  CHECK(work.streams[0].index == other);
  CHECK(work.streams[0].missing == 0);
  CHECK(work.streams[0].refused == Ordinals{1});
  CHECK(ordinals(work.streams[0].candidates) == Ordinals{2});
  run.issue(other, op::Kind::copy).result = 700;
  CHECK(run.look().streams.at(0).refused == Ordinals{1, 3});
}
