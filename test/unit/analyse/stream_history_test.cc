#include "analyse/stream_history.h"

#include <doctest/doctest.h>

#include "unit/analyse/picture_builder.h"

using namespace cudadiag;
using namespace cudadiag::analyse;

namespace {

std::vector<std::uint32_t> ordinals(const PictureBuilder& picture) {
  const auto histories = stream_histories(picture.process.record, EventLog(picture.process.record));
  const CandidateWindow window = candidate_window(histories[0]);
  std::vector<std::uint32_t> result;
  for (const auto* operation : window.of(histories[0])) result.push_back(operation->ordinal);
  return result;
}

using Ordinals = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("without an unwritten marker every unfinished operation is in the window") {
  PictureBuilder picture;
  picture.issue_many(picture.stream(1), 4);
  CHECK(ordinals(picture) == Ordinals{2, 3, 4});
}

TEST_CASE("an ordinal that was never queued is not missing") {
  PictureBuilder picture;
  const auto stream = picture.stream(0);
  picture.issue_many(stream, 3);
  picture.process.record.operations.erase(picture.process.record.operations.begin());
  auto& session_stream = picture.process.record.streams[stream];
  const auto window = [&] {
    const EventLog events(picture.process.record);
    return candidate_window(stream_histories(picture.process.record, events)[stream]);
  };
  CHECK(window().missing == 1);
  CHECK(window().lost_first);
  session_stream.not_given = {1};
  CHECK(window().missing == 0);
  CHECK_FALSE(window().lost_first);
}

TEST_CASE("a marker before an operation ends the window before it") {
  PictureBuilder picture;
  const auto s = picture.stream(1);
  picture.issue_many(s, 3);
  picture.issue(s, op::Kind::kernel, op::kMarkedBefore);
  picture.issue_many(s, 2);
  CHECK(ordinals(picture) == Ordinals{2, 3});
}

TEST_CASE("a marker before the first unfinished operation covers only finished ones") {
  PictureBuilder picture;
  const auto s = picture.stream(1);
  picture.issue(s);
  picture.issue(s, op::Kind::kernel, op::kMarkedBefore);
  picture.issue(s, op::Kind::kernel, op::kMarked);
  CHECK(ordinals(picture) == Ordinals{2, 3});
}

TEST_CASE("the newest marker bounds the window if the operation that proves it is lost") {
  PictureBuilder picture;
  const auto s = picture.stream(0);
  picture.issue_many(s, 4);
  picture.process.record.streams[s].marker_issued = 2;
  CHECK(ordinals(picture) == Ordinals{1, 2});
}

TEST_CASE("operations issued while a marker was being queued may have come before it") {
  PictureBuilder picture;
  const auto s = picture.stream(1);
  picture.issue_many(s, 2);
  picture.issue(s, op::Kind::kernel, op::kContended);
  picture.issue(s);
  picture.process.record.streams[s].marker_issued = 2;
  CHECK(ordinals(picture) == Ordinals{2, 3});
}

TEST_CASE("the host's own waits count like markers") {
  PictureBuilder picture;
  const auto s = picture.stream(1);
  picture.issue_many(s, 4);
  picture.process.record.streams[s].host_completed = 3;
  CHECK(ordinals(picture) == Ordinals{4});
}

TEST_CASE("contended neighbours widen the window on both sides, others do not") {
  PictureBuilder picture;
  const auto s = picture.stream(3);
  picture.issue(s);
  picture.issue(s, op::Kind::kernel, op::kContended);
  picture.issue(s, op::Kind::kernel, op::kContended);
  picture.issue(s, op::Kind::kernel, op::kContended | op::kMarked);
  picture.issue(s, op::Kind::kernel, op::kContended);
  picture.issue(s);
  CHECK(ordinals(picture) == Ordinals{2, 3, 4, 5});
  picture.process.record.operations[3].flags &= static_cast<std::uint8_t>(~op::kContended);
  CHECK(ordinals(picture) == Ordinals{4});
}

// ---- the time since which records are complete

TEST_CASE("a ring that starts at serial 1 lost nothing") {
  PictureBuilder picture;
  picture.issue_many(picture.stream(0), 3);
  CHECK(complete_since(picture.process.record) == 0);
}

TEST_CASE("the horizon is the oldest record of the newest run of records") {
  PictureBuilder picture;
  picture.issue_many(picture.stream(0), 5);
  auto& operations = picture.process.record.operations;
  operations.erase(operations.begin() + 2);
  CHECK(complete_since(picture.process.record) == 40);
}

TEST_CASE("a ring that a later thread took over is complete from the earlier thread's oldest record on") {
  PictureBuilder picture;
  picture.issue_many(picture.stream(0), 3);
  auto& record = picture.process.record;
  record.operations[0].ticks = 100;  // the later thread overwrote the first record with its own serial 1
  record.threads[0].published = 1;
  CHECK(complete_since(record) == 20);
}

TEST_CASE("an unreadable newest record leaves nothing certain") {
  PictureBuilder picture;
  picture.issue_many(picture.stream(0), 3);
  picture.process.record.operations.pop_back();
  CHECK(complete_since(picture.process.record) == UINT64_MAX);
}

TEST_CASE("the process ordinal counts all threads' stream operations, not the host's waits") {
  PictureBuilder picture;
  const auto s = picture.stream(0);
  picture.issue(s);
  picture.issue(op::kNoStream, op::Kind::event_sync);
  picture.issue(s);
  const auto& record = picture.process.record;
  CHECK(IssueOrder(record).ordinal(record.operations[2]) == 2);
}

TEST_CASE("after a horizon the threads' counts give the process ordinal, or nothing does") {
  PictureBuilder picture;
  picture.issue_many(picture.stream(0), 5);
  auto& record = picture.process.record;
  record.operations.erase(record.operations.begin(), record.operations.begin() + 2);
  CHECK(!IssueOrder(record).ordinal(record.operations[0]));
  record.threads[0].operations = 5;
  CHECK(IssueOrder(record).ordinal(record.operations[0]) == 3);
  record.dropped_operations = 1;
  CHECK(!IssueOrder(record).ordinal(record.operations[0]));
}
