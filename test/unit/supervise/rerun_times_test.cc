#include <doctest/doctest.h>

#include <array>

#include "supervise/reruns/rerun_policy.h"
#include "unit/supervise/failing_session.h"

namespace cudadiag::supervise {
namespace {

TEST_CASE("a rerun takes as long as the first run took to fail") {
  session::Session session = failing_session();
  session::Pass& record = session.manifest.passes.front();
  CHECK(expected_seconds(session) == 10);
  record.failed_after = 4.5;
  CHECK(expected_seconds(session) == 4.5);
  // Times like these occur if the system clock is set during the run.
  for (const double nonsense : {-3.0, 1e6}) {
    record.failed_after = nonsense;
    CHECK(expected_seconds(session) == 10);
  }
  session.manifest.passes.clear();
  CHECK(expected_seconds(session) == 0);
}

// One tick is a millisecond. The operations start 1, 2 and 6 seconds after the process, and the freeze is at 7 seconds.
session::Session paced_session() {
  session::Session session = failing_session(3);
  auto& record = session.processes.front().record;
  record.clock_start = 1000;
  record.seconds_per_tick = 0.001;
  for (std::size_t i = 0; i < 3; ++i) record.operations[i].ticks = 1000 + 1000 * std::array{1, 2, 6}[i];
  record.operations_issued = 3;
  record.frozen_ticks = 8000;
  session.manifest.passes.front().failed_after = 7;
  return session;
}

TEST_CASE("the longest pause is the longest time without an operation") {
  CHECK(longest_pause(paced_session()) == doctest::Approx(4));
}

TEST_CASE("operations that were not recorded may have been one long pause") {
  session::Session session = paced_session();
  SUBCASE("records were overwritten") { session.processes.front().record.operations_issued = 4; }
  SUBCASE("records were dropped") { session.processes.front().record.dropped_operations = 1; }
  SUBCASE("nothing froze") { session.processes.front().record.state = wire::area::State::recording; }
  CHECK(longest_pause(session) == 7);
}

TEST_CASE("the window contains a time limit only if the user set one") {
  CHECK(with_patience("1f@3", 5) == "1f@3");
  CHECK(with_patience("1f@3", 0.25) == "1f@3,patience=250");
}

}  // namespace
}  // namespace cudadiag::supervise
