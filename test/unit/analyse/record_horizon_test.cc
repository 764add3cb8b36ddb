#include <doctest/doctest.h>

#include "analyse/stream_history.h"
#include "unit/analyse/picture_builder.h"

using namespace cudadiag;
using namespace cudadiag::analyse;

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
