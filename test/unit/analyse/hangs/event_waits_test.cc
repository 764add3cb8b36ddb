#include <doctest/doctest.h>

#include "analyse/first_failure.h"
#include "analyse/stream_history.h"
#include "unit/analyse/picture_builder.h"

using namespace cudadiag;
using namespace cudadiag::analyse;

namespace {

constexpr std::uint64_t kEvent = 0xe1, kOtherEvent = 0xe2;

std::vector<std::uint32_t> candidate_streams(const PictureBuilder& picture) {
  const auto failure = first_failure(picture.process);
  std::vector<std::uint32_t> result;
  for (const auto& candidate : failure->candidates) result.push_back(candidate.operation->stream);
  return result;
}

using StreamIds = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("an operation that waits for an event after an unfinished operation has not started") {
  PictureBuilder picture;
  const auto s = picture.stream(0), t = picture.stream(0);
  picture.issue(t, op::Kind::kernel, op::kMarked);
  picture.issue(t, op::Kind::event_record, 0, kEvent);
  picture.issue(s, op::Kind::event_wait, 0, kEvent);
  picture.issue(s, op::Kind::kernel, op::kMarked);
  CHECK(candidate_streams(picture) == StreamIds{t});
  CHECK(first_failure(picture.process)->evidence.grade() == Grade::bracketed);
}

TEST_CASE("a wait for an event that the stream had reached excludes nothing") {
  PictureBuilder picture;
  const auto s = picture.stream(0), t = picture.stream(2);
  picture.issue(t, op::Kind::kernel, op::kMarked);
  picture.issue(t, op::Kind::event_record, 0, kEvent);
  picture.issue(s, op::Kind::event_wait, 0, kEvent);
  picture.issue(s, op::Kind::kernel, op::kMarked);
  picture.issue(t, op::Kind::kernel, op::kMarked);
  CHECK(candidate_streams(picture) == StreamIds{s, t});
}

TEST_CASE("an event that may have been reached only moves the waiting operation down the list") {
  PictureBuilder picture;
  const auto t = picture.stream(0), s = picture.stream(0);
  picture.issue(t);
  picture.issue(t, op::Kind::event_record, 0, kEvent);
  picture.issue(s, op::Kind::event_wait, 0, kEvent);
  picture.issue(s, op::Kind::kernel, op::kMarked);
  picture.issue(t, op::Kind::kernel, op::kMarked);
  CHECK(candidate_streams(picture) == StreamIds{t, t, s});
  CHECK(first_failure(picture.process)->candidates[2].because ==
        "waits for an event of another stream, and could have run only if that event had completed");
}

TEST_CASE("a marker after the recording of an event, queued later, does not prove that the event was not reached") {
  PictureBuilder picture;
  const auto t = picture.stream(0), s = picture.stream(0);
  picture.issue(t);
  picture.issue(t, op::Kind::event_record, 0, kEvent);
  picture.issue(s, op::Kind::event_wait, 0, kEvent);
  picture.issue(s, op::Kind::kernel, op::kMarked);
  picture.issue(t, op::Kind::kernel, op::kMarkedBefore | op::kMarked);
  CHECK(candidate_streams(picture) == StreamIds{t, s});
}

TEST_CASE("the wait refers to the latest record before it") {
  PictureBuilder picture;
  const auto s = picture.stream(0), t = picture.stream(1);
  picture.issue(t, op::Kind::event_record, 0, kEvent);
  picture.issue(s, op::Kind::event_wait, 0, kEvent);
  picture.issue(s, op::Kind::kernel, op::kMarked);
  picture.issue(t, op::Kind::kernel, op::kMarked);
  picture.issue(t, op::Kind::event_record, 0, kEvent);  // recorded again after the wait, so this record does not matter
  CHECK(candidate_streams(picture) == StreamIds{s, t});
}

TEST_CASE("chains of waits are followed") {
  PictureBuilder picture;
  const auto a = picture.stream(0), b = picture.stream(0), c = picture.stream(0);
  picture.issue(a, op::Kind::kernel, op::kMarked);
  picture.issue(a, op::Kind::event_record, 0, kEvent);
  picture.issue(b, op::Kind::event_wait, 0, kEvent);
  picture.issue(b, op::Kind::event_record, 0, kOtherEvent);
  picture.issue(c, op::Kind::event_wait, 0, kOtherEvent);
  picture.issue(c);
  CHECK(candidate_streams(picture) == StreamIds{a});
}

TEST_CASE("circular waits do not hang the search") {
  PictureBuilder picture;
  const auto s = picture.stream(0), t = picture.stream(0);
  picture.issue(s, op::Kind::event_record, 0, kEvent);
  picture.issue(t, op::Kind::event_wait, 0, kEvent);
  picture.issue(t, op::Kind::event_record, 0, kOtherEvent);
  picture.issue(s, op::Kind::event_wait, 0, kOtherEvent);
  picture.issue(s);
  picture.issue(t);
  CHECK(candidate_streams(picture).size() == 2);
}

TEST_CASE("nothing is excluded if nothing would be left") {
  PictureBuilder picture;
  const auto s = picture.stream(0), t = picture.stream(0);
  picture.issue(t, op::Kind::host_function, op::kMarked);
  picture.issue(t, op::Kind::event_record, 0, kEvent);
  picture.issue(s, op::Kind::event_wait, 0, kEvent);
  picture.issue(s, op::Kind::kernel, op::kMarked);
  CHECK(candidate_streams(picture) == StreamIds{s});
}

TEST_CASE("a record that a lost one may have superseded excludes nothing") {
  PictureBuilder picture;
  const auto s = picture.stream(0), t = picture.stream(0);
  picture.issue(t, op::Kind::kernel, op::kMarked);
  picture.issue(t, op::Kind::event_record, 0, kEvent);
  picture.issue(s, op::Kind::event_wait, 0, kEvent);
  picture.issue(s, op::Kind::kernel, op::kMarked);
  for (auto& operation : picture.process.record.operations) operation.serial += operation.ticks > 20 ? 5 : 0;
  picture.process.record.threads[0].published += 5;
  CHECK(candidate_streams(picture) == StreamIds{t, s});
}

TEST_CASE("an event that the host saw complete shows how far its stream had got") {
  for (const std::uint32_t result : {0u, 600u}) {
    PictureBuilder picture;
    const auto s = picture.stream(0);
    picture.issue(s);
    picture.issue(s, op::Kind::event_record, 0, kEvent);
    picture.issue(op::kNoStream, op::Kind::event_sync, 0, kEvent).result = result;
    picture.issue(s);
    const auto failure = first_failure(picture.process);
    REQUIRE(failure->candidates.size() == (result == 0 ? 1 : 2));
    if (result == 0) {
      CHECK(failure->candidates[0].operation->ordinal == 3);
      CHECK(failure->evidence == "operation 2 on stream 0x100 had finished; only operation 3 could have been running");
    }
  }
}

TEST_CASE("an event that was recorded again while the host waited says nothing about the newer recording") {
  PictureBuilder picture;
  const auto s = picture.stream(0);
  picture.issue(s, op::Kind::event_record, 0, kEvent);
  picture.issue(s);
  const std::uint64_t began = picture.process.record.operations.back().ticks;
  picture.issue(s, op::Kind::event_record, 0, kEvent);
  picture.issue(op::kNoStream, op::Kind::event_sync, 0, kEvent).began = began;
  picture.issue(s);
  CHECK(first_failure(picture.process)->candidates.size() == 2);
}

TEST_CASE("an event that another thread was recording when the host asked says nothing about that recording") {
  PictureBuilder picture;
  auto& record = picture.process.record;
  record.threads.resize(2);
  const auto s = picture.stream(0);
  picture.issue(s);
  auto& recorded = picture.issue(s, op::Kind::event_record, 0, kEvent);
  recorded.thread = 1;
  recorded.serial = record.threads[1].published = 1;
  --record.threads[0].published;
  const std::uint64_t began = recorded.ticks + 1;
  for (const std::uint64_t returned_at : {began, began + 1}) {
    recorded.returned_at = returned_at;
    PictureBuilder run = picture;
    run.issue(op::kNoStream, op::Kind::event_sync, 0, kEvent).began = began;
    run.process.record.operations.back().ticks = began + 2;
    run.issue(s);
    CHECK(first_failure(run.process)->candidates.size() == (returned_at > began ? 2 : 1));
  }
}

TEST_CASE("after another thread destroyed an event, its handle belongs to a new event when it is recorded again") {
  PictureBuilder picture;
  auto& record = picture.process.record;
  record.threads.resize(2);
  const auto s = picture.stream(0);
  picture.issue(s);
  auto& gone = picture.issue(op::kNoStream, op::Kind::event_forgotten, 0, kEvent);
  gone.thread = 1;
  gone.serial = record.threads[1].published = 1;
  --record.threads[0].published;
  gone.ticks -= 1;
  picture.issue(s, op::Kind::event_record, 0, kEvent);
  picture.issue(op::kNoStream, op::Kind::event_sync, 0, kEvent);
  picture.issue(s);
  CHECK(first_failure(picture.process)->candidates.size() == 1);
}

TEST_CASE("a stream's wait excludes nothing if another thread was recording the event then") {
  PictureBuilder picture;
  auto& record = picture.process.record;
  record.threads.resize(2);
  const auto s = picture.stream(0), t = picture.stream(0);
  picture.issue(t, op::Kind::kernel, op::kMarked);
  auto& recorded = picture.issue(t, op::Kind::event_record, 0, kEvent);
  recorded.thread = 1;
  recorded.serial = record.threads[1].published = 1;
  --record.threads[0].published;
  const std::uint64_t waited = recorded.ticks + 1;
  for (const std::uint64_t returned_at : {waited, waited + 1}) {
    recorded.returned_at = returned_at;
    PictureBuilder run = picture;
    auto& wait = run.issue(s, op::Kind::event_wait, 0, kEvent);
    wait.ticks = waited;
    wait.returned_at = waited + 2;
    run.issue(s, op::Kind::kernel, op::kMarked);
    CHECK(candidate_streams(run) == (returned_at > waited ? StreamIds{t, s} : StreamIds{t}));
  }
}

TEST_CASE("an event that refers to something else by then says nothing about its latest record") {
  PictureBuilder picture;
  const auto s = picture.stream(0);
  picture.issue(s);
  picture.issue(s, op::Kind::event_record, 0, kEvent);
  SUBCASE("it was destroyed, or a context recorded it") {
    picture.issue(op::kNoStream, op::Kind::event_forgotten, 0, kEvent);
  }
  SUBCASE("it was recorded in a stream for which there was no room") {
    picture.issue(op::kNoStream, op::Kind::event_forgotten, 0, kEvent).kind = op::Kind::event_record;
  }
  SUBCASE("several streams record it") {
    picture.process.record.events_unseen = picture.process.record.operations.back().ticks + 1;
  }
  SUBCASE("a graph with a node that records events was launched since") {
    session::Graph graph;
    graph.whole = true;
    graph.nodes.resize(2);
    graph.nodes[1].type = wire::graph_node::kEventRecord;
    picture.process.record.graphs = {graph};
    picture.issue(picture.stream(9), op::Kind::graph).graph = 1;
  }
  SUBCASE("an incompletely known graph was launched since") { picture.issue(picture.stream(9), op::Kind::graph); }
  picture.issue(op::kNoStream, op::Kind::event_sync, 0, kEvent);
  picture.issue(s);
  CHECK(first_failure(picture.process)->candidates.size() == 2);
}

TEST_CASE("a full log shows what an event referred to even if the rings have lost that") {
  PictureBuilder picture;
  const auto s = picture.stream(0), t = picture.stream(0);
  picture.issue(t, op::Kind::kernel, op::kMarked).logged = true;
  picture.issue(t, op::Kind::event_record, 0, kEvent).logged = true;
  picture.issue(s, op::Kind::event_wait, 0, kEvent);
  picture.issue(s, op::Kind::kernel, op::kMarked);
  auto& operations = picture.process.record.operations;
  // Simulates lost records between the first two operations and the others.
  operations[2].serial += 100, operations[3].serial += 100;
  picture.process.record.threads[0].published += 100;
  CHECK(candidate_streams(picture) == StreamIds{t, s});
  operations[2].recorded = 2;
  CHECK(candidate_streams(picture) == StreamIds{t});
  operations[0].issued = 77;
  CHECK(first_failure(picture.process)->candidates[0].process_ordinal == 77);
  picture.process.record.dropped_operations = 1;
  CHECK(candidate_streams(picture) == StreamIds{t, s});
}
