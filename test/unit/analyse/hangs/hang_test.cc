#include "analyse/hang.h"

#include <doctest/doctest.h>

#include "unit/analyse/picture_builder.h"

using namespace cudadiag;
using namespace cudadiag::analyse;

namespace {

struct Still : PictureBuilder {
  Still() {
    auto& record = process.record;
    record.state = wire::area::State::recording;
    record.errors.clear();
    record.sites.resize(1);
    record.seconds_per_tick = 0.1;
    record.clock_last = 10'000;
  }

  void wait(wire::thread::Wait kind, std::uint32_t stream = op::kNoStream) {
    session::Thread& thread = process.record.threads[0];
    thread.state = wire::thread::State::live;
    thread.call_domain = wire::error::Domain::driver;
    thread.call_ticks = 10 * thread.published + 5;
    thread.blocked = {1, kind, stream, 0, 0, "a call", ""};
  }
};

}  // namespace

TEST_CASE("an unwritten marker after one operation brackets where it hangs") {
  Still run;
  const auto stream = run.stream(0);
  run.issue(stream, op::Kind::kernel, op::kMarked);
  const auto failure = hang(run.process, 60);
  REQUIRE(failure);
  CHECK(failure->kind == Kind::hang);
  CHECK(failure->evidence.grade() == Grade::bracketed);
  CHECK(failure->candidates.size() == 1);
  CHECK(failure->hang->seconds == 60);
  CHECK(failure->hang->thread == nullptr);
}

TEST_CASE("work that may all have finished is not a hang") {
  Still run;
  const auto stream = run.stream(0);
  run.issue_many(stream, 13);
  CHECK(!hang(run.process, 60));
  // A thread is not reported as hanging in a call that need not wait for the GPU.
  run.wait(wire::thread::Wait::none);
  CHECK(!hang(run.process, 60));
}

TEST_CASE("a wait for a context with two unfinished streams does not decide between them") {
  Still run;
  const auto first = run.stream(0), second = run.stream(0);
  run.issue(first);
  run.issue_many(second, 2);
  run.wait(wire::thread::Wait::context);
  const auto failure = hang(run.process, 60);
  REQUIRE(failure);
  CHECK(failure->evidence.grade() == Grade::inferred);
  CHECK(failure->candidates.size() == 3);
  CHECK(failure->evidence ==
        "any of 3 operations on 2 streams may be the unfinished one, because no marker separates them");
  CHECK(failure->hang->site == 1);
}

TEST_CASE("a stream on which nothing can block is not the one that hangs") {
  Still run;
  const auto first = run.stream(0), second = run.stream(0);
  run.issue(first, op::Kind::event_record, op::kMarked);
  run.issue(second, op::Kind::kernel, op::kMarked);
  const auto failure = hang(run.process, 60);
  REQUIRE(failure);
  CHECK(failure->candidates.size() == 1);
  CHECK(failure->candidates.front().operation->stream == second);
}

TEST_CASE("of several operations, one that waits for a value leads") {
  Still run;
  const auto stream = run.stream(0);
  run.issue_many(stream, 2);
  run.issue(stream, op::Kind::memory_operation, op::kMarked, 0xa0).memory_operation = op::MemoryOperation::wait_equal;
  const auto failure = hang(run.process, 60);
  REQUIRE(failure);
  CHECK(failure->evidence.grade() == Grade::inferred);
  CHECK(failure->candidates.front().operation->ordinal == 3);
  CHECK(failure->candidates.size() == 3);
}

TEST_CASE("earlier work of the legacy stream may block a blocking stream") {
  Still run;
  const auto legacy = run.stream(0), stream = run.stream(0);
  auto& streams = run.process.record.streams;
  streams[legacy].flags = wire::stream::kLegacy;
  run.issue(legacy);
  run.issue(stream, op::Kind::kernel, op::kMarked);
  SUBCASE("if the stream is a blocking one") {
    const auto failure = hang(run.process, 60);
    REQUIRE(failure);
    CHECK(failure->evidence.grade() == Grade::inferred);
    CHECK(failure->candidates.size() == 2);
    CHECK(failure->evidence ==
          "any of 2 operations on 2 streams may be the unfinished one, because streams may wait for each other");
  }
  SUBCASE("also if a stream blocks the legacy one, which blocks another") {
    const auto third = run.stream(0);
    streams[stream].marker_issued = 0;
    run.issue(legacy);
    run.issue(third, op::Kind::kernel, op::kMarked);
    const auto failure = hang(run.process, 60);
    REQUIRE(failure);
    CHECK(failure->candidates.size() == 4);
  }
  SUBCASE("also if another stream is blocked independently") {
    const auto apart = run.stream(0);
    streams[apart].flags = wire::stream::kNonBlocking;
    run.issue(apart, op::Kind::kernel, op::kMarked);
    const auto failure = hang(run.process, 60);
    REQUIRE(failure);
    CHECK(failure->evidence.grade() == Grade::inferred);
    CHECK(failure->candidates.size() == 3);
  }
  SUBCASE("but not a non-blocking stream") {
    streams[stream].flags = wire::stream::kNonBlocking;
    const auto failure = hang(run.process, 60);
    REQUIRE(failure);
    CHECK(failure->evidence.grade() == Grade::bracketed);
    CHECK(failure->candidates.front().operation->stream == stream);
  }
  SUBCASE("and not one of another context") {
    run.process.record.contexts.push_back(run.process.record.contexts.front());
    streams[stream].context = 1;
    CHECK(hang(run.process, 60)->evidence.grade() == Grade::bracketed);
  }
  SUBCASE("and not if it was seen to finish") {
    streams[legacy].marker = streams[legacy].marker_issued = 1;
    CHECK(hang(run.process, 60)->evidence.grade() == Grade::bracketed);
  }
}

TEST_CASE("later work of the legacy stream blocks nothing that was issued before, unless by another thread") {
  Still run;
  const auto legacy = run.stream(0), stream = run.stream(0);
  run.process.record.streams[legacy].flags = wire::stream::kLegacy;
  run.issue(stream, op::Kind::kernel, op::kMarked);
  run.issue(legacy, op::Kind::kernel, op::kMarked);
  const auto failure = hang(run.process, 60);
  REQUIRE(failure);
  CHECK(failure->evidence.grade() == Grade::bracketed);
  CHECK(failure->candidates.front().operation->stream == stream);
  run.process.record.operations.back().thread = 1;
  CHECK(hang(run.process, 60)->evidence.grade() == Grade::inferred);
}

TEST_CASE("a marker queued before the next operation covers only what came before that operation") {
  Still run;
  const auto legacy = run.stream(0), stream = run.stream(0);
  run.process.record.streams[legacy].flags = wire::stream::kLegacy;
  run.issue(stream);
  run.issue(stream);
  SUBCASE("also on the legacy stream") {
    run.issue(legacy, op::Kind::kernel, op::kMarked);
    run.issue(stream, op::Kind::kernel, op::kMarkedBefore);
    const auto failure = hang(run.process, 60);
    REQUIRE(failure);
    CHECK(failure->evidence.grade() == Grade::inferred);
    CHECK(failure->candidates.size() == 3);
  }
  SUBCASE("whatever happened to that operation") {
    run.issue(legacy, op::Kind::kernel, op::kMarked);
    run.issue(stream, op::Kind::kernel, op::kMarkedBefore | op::kReturned).result = 1;
    CHECK(hang(run.process, 60)->candidates.size() == 3);
  }
  SUBCASE("but it does not cover what came later") {
    run.issue(stream, op::Kind::kernel, op::kMarkedBefore);
    run.issue(legacy, op::Kind::kernel, op::kMarked);
    CHECK(hang(run.process, 60)->candidates.size() == 2);
  }
}

TEST_CASE("operations whose records are lost are counted as possible ones") {
  Still run;
  const auto stream = run.stream(0);
  run.issue(stream);
  run.issue(stream);
  run.issue(stream, op::Kind::kernel, op::kMarked);
  run.process.record.operations.erase(run.process.record.operations.begin());
  const auto failure = hang(run.process, 60);
  REQUIRE(failure);
  CHECK(failure->candidates.size() == 2);
  CHECK(failure->evidence ==
        "any of 3 operations may be the unfinished one, because no marker separates them; the records of 1 of them are "
        "lost");
}

TEST_CASE("a wait for an event whose recording is lost may wait for any stream") {
  Still run;
  const auto first = run.stream(0), second = run.stream(0);
  run.issue(second);
  run.issue(first, op::Kind::event_wait, op::kMarked, 0xe0);
  CHECK(hang(run.process, 60)->candidates.size() == 1);  // waiting for an event that was never recorded does not block
  run.process.record.dropped_operations = 1;
  const auto failure = hang(run.process, 60);
  REQUIRE(failure);
  CHECK(failure->evidence.grade() == Grade::inferred);
  CHECK(failure->candidates.size() == 2);
}

TEST_CASE("a stream that waits for a value comes after the stream that should write it") {
  Still run;
  const auto first = run.stream(0), second = run.stream(0);
  run.issue(first, op::Kind::memory_operation, op::kMarked, 0xa0).memory_operation = op::MemoryOperation::wait_equal;
  SUBCASE("if that one is proven to be blocked") {
    run.issue(second, op::Kind::kernel, op::kMarked);
    run.issue(second, op::Kind::memory_operation, 0, 0xa0).memory_operation = op::MemoryOperation::write;
    const auto failure = hang(run.process, 60);
    REQUIRE(failure);
    CHECK(failure->evidence.grade() == Grade::bracketed);
    CHECK(failure->candidates.front().operation->stream == second);
  }
  SUBCASE("or is listed with it if that one may be blocked") {
    run.issue(second);
    run.issue(second, op::Kind::memory_operation, 0, 0xa0).memory_operation = op::MemoryOperation::write;
    const auto failure = hang(run.process, 60);
    REQUIRE(failure);
    CHECK(failure->evidence.grade() == Grade::inferred);
    CHECK(failure->candidates.size() == 2);
  }
}

TEST_CASE("a process whose state is frozen has failed, not hung") {
  Still run;
  run.issue(run.stream(0), op::Kind::kernel, op::kMarked);
  run.process.record.state = wire::area::State::frozen;
  CHECK(!hang(run.process, 60));
}

TEST_CASE("a thread that is blocked in the call that issues something") {
  Still run;
  const auto stream = run.stream(0);
  run.issue_many(stream, 2, op::kMarked);
  auto& launch = run.process.record.operations.back();
  launch.flags = 0;
  launch.site = 1;
  run.wait(wire::thread::Wait::none);
  auto& thread = run.process.record.threads[0];
  thread.blocked = {};
  thread.call_ticks = launch.ticks;
  const auto failure = hang(run.process, 60);
  REQUIRE(failure);
  CHECK(failure->hang->thread == &thread);
  CHECK(failure->hang->issues == &launch);
}
