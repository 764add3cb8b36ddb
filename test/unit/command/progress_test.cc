#include <doctest/doctest.h>

#include "run/reruns.h"

namespace cudadiag::command {
namespace {

using std::chrono::milliseconds;

TEST_CASE("progress says how much is done and how long the rest takes") {
  CHECK(progress_line({"confirming", 3.5, 0.37}, 79) == "cudadiag: confirming 37%, 6 s left (Ctrl-C stops)");
  CHECK(progress_line({"confirming", 60, 0.25}, 79) == "cudadiag: confirming 25%, 3 min left (Ctrl-C stops)");
}

TEST_CASE("progress gives no estimate from the first operations, and none after the last") {
  CHECK(progress_line({"confirming", 1, 0.01}, 79) == "cudadiag: confirming 1% (Ctrl-C stops)");
  CHECK(progress_line({"confirming", 1, 1.0}, 79) == "cudadiag: confirming 100% (Ctrl-C stops)");
}

TEST_CASE("the time left goes down while nothing gets done, and is not shown once it is over") {
  ProgressState state{"confirming", 5, 0.25};
  state.idle_seconds = 2;
  CHECK(progress_line(state, 79) == "cudadiag: confirming 25%, 7 s left (Ctrl-C stops)");
  state.seconds = 13;
  state.idle_seconds = 10;
  CHECK(progress_line(state, 79) == "cudadiag: confirming 25% (Ctrl-C stops)");
}

TEST_CASE("progress without a count of operations compares with the first run") {
  const ProgressState state{"getting a GPU core dump", 2.2, std::nullopt, 6};
  CHECK(progress_line(state, 79) == "cudadiag: getting a GPU core dump, 3 s of about 6 s (Ctrl-C stops)");
  CHECK(progress_line({"getting a GPU core dump", 7}, 79) ==
        "cudadiag: getting a GPU core dump, 7 s so far (Ctrl-C stops)");
}

TEST_CASE("the progress line never exceeds its width, and loses the hint first") {
  const ProgressState state{"confirming", 3.5, 0.37};
  CHECK(progress_line(state, 39) == "cudadiag: confirming 37%, 6 s left");
  CHECK(progress_line(state, 30) == "cudadiag: confirming 37%");
  CHECK(progress_line(state, 12) == "cudadiag:...");
  CHECK(progress_line({"w\u00e4rmt", 1, 0.01}, 18) == "cudadiag: w\u00e4rmt 1%");
  CHECK(progress_line(state, 0).empty());
}

TEST_CASE("the time during which this process was stopped does not count") {
  const TickedTime::Clock::time_point begin{};
  TickedTime time(begin);
  CHECK(time.tick(begin + milliseconds(200)) == doctest::Approx(0.2));
  CHECK(time.tick(begin + milliseconds(10200)) == doctest::Approx(1.2));
}

}  // namespace
}  // namespace cudadiag::command
