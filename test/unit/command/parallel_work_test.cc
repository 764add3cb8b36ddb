#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

#include "sessions/job_sessions.h"

using cudadiag::command::in_parallel;

TEST_CASE("each number is worked on once") {
  std::vector<std::atomic<int>> times(1000);
  in_parallel(times.size(), [&](std::size_t i) { return ++times[i], true; });
  for (const auto& count : times) CHECK(count == 1);
  in_parallel(0, [](std::size_t) -> bool { throw std::runtime_error("never called"); });
}

TEST_CASE("a call that returns false ends the work, after all smaller numbers") {
  std::vector<std::atomic<int>> times(100);
  in_parallel(times.size(), [&](std::size_t i) { return ++times[i], i < 20; });
  for (std::size_t i = 0; i <= 20; ++i) CHECK(times[i] == 1);
  CHECK(times.back() == 0);
}

TEST_CASE("the caller gets an exception from any thread") {
  for (const std::size_t wrong : {0u, 1u, 99u}) {
    const auto work = [&](std::size_t i) { return i == wrong ? throw std::runtime_error("wrong") : true; };
    CHECK_THROWS_WITH(in_parallel(100, work), "wrong");
  }
}
