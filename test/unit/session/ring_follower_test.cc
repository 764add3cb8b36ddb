#include "session/ring_follower.h"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "unit/session/area_builder.h"

using namespace cudadiag;
using session::RingFollower;
using test::AreaBuilder;

namespace {

struct Heard : session::RingReader {
  void record(const std::byte* record) override {
    ticks.push_back(wire::load(record, wire::operation::kTicks));
    threads.push_back(wire::load(record, wire::operation::kThread));
  }
  void lost(std::uint64_t count, std::uint64_t until) override { gaps.emplace_back(count, until); }

  std::vector<std::uint64_t> ticks;
  std::vector<std::uint32_t> threads;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> gaps;
};

void poll_twice(RingFollower& follower, Heard& heard) {
  follower.poll(heard);
  follower.poll(heard);
}

}  // namespace

TEST_CASE("each record is delivered once, in the order of issue across threads") {
  AreaBuilder area;
  area.kernel(0, 1, 0, 10), area.kernel(0, 2, 0, 30), area.kernel(1, 1, 0, 20);
  area.live_thread(0, 1, 2), area.live_thread(1, 2, 1);
  RingFollower follower(area.bytes());
  Heard heard;
  follower.poll(heard);
  CHECK(heard.ticks.empty());
  follower.poll(heard);
  CHECK(heard.ticks == std::vector<std::uint64_t>{10, 20, 30});
  poll_twice(follower, heard);
  CHECK(heard.ticks.size() == 3);
  CHECK_FALSE(follower.poll(heard));
}

TEST_CASE("records published earlier come earlier, even if fetched later") {
  AreaBuilder area;
  RingFollower follower(area.bytes());
  Heard heard;
  area.kernel(1, 1, 0, 20);
  area.live_thread(1, 2, 1);
  follower.poll(heard);
  area.kernel(0, 1, 0, 10);
  area.live_thread(0, 1, 1);
  poll_twice(follower, heard);
  CHECK(heard.ticks == std::vector<std::uint64_t>{10, 20});
}

TEST_CASE("if a ring wrapped around, the follower says up to when records are lost") {
  AreaBuilder area;
  RingFollower follower(area.bytes());
  Heard heard;
  area.kernel(0, 1, 0, 10);
  area.live_thread(0, 1, 1);
  poll_twice(follower, heard);
  for (std::uint64_t serial = 6; serial <= 9; ++serial) area.kernel(0, serial, 0, 10 * serial);
  area.live_thread(0, 1, 9);
  follower.poll(heard);
  CHECK(heard.gaps == std::vector<std::pair<std::uint64_t, std::uint64_t>>{{4, 60}});
  follower.poll(heard);
  CHECK(heard.ticks == std::vector<std::uint64_t>{10, 60, 70, 80, 90});
}

TEST_CASE("a record being overwritten is waited for, then counted as lost") {
  AreaBuilder area;
  RingFollower follower(area.bytes());
  Heard heard;
  area.kernel(0, 1, 0, 10);
  wire::store(area.kernel(0, 2, 0, 20), wire::operation::kSerial, 0);
  area.live_thread(0, 1, 2);
  poll_twice(follower, heard);
  CHECK(heard.ticks == std::vector<std::uint64_t>{10});
  CHECK(heard.gaps.empty());
  area.kernel(0, 3, 0, 30);
  area.live_thread(0, 1, 3);
  poll_twice(follower, heard);
  CHECK(heard.ticks == std::vector<std::uint64_t>{10, 30});
  CHECK(heard.gaps == std::vector<std::pair<std::uint64_t, std::uint64_t>>{{1, 30}});
}

TEST_CASE("at the end, everything is delivered") {
  AreaBuilder area;
  area.kernel(0, 1, 0, 10);
  area.live_thread(0, 1, 1);
  RingFollower follower(area.bytes());
  Heard heard;
  follower.finish(heard);
  CHECK(heard.ticks.size() == 1);
}

TEST_CASE("an area that is not yet written, or never will be, has no records") {
  AreaBuilder area;
  area.kernel(0, 1, 0, 10);
  area.live_thread(0, 1, 1);
  area.state(wire::area::State::empty);
  RingFollower follower(area.bytes());
  Heard heard;
  poll_twice(follower, heard);
  CHECK(heard.ticks.empty());
  area.state(wire::area::State::recording);
  poll_twice(follower, heard);
  CHECK(heard.ticks.size() == 1);
  RingFollower nothing({});
  CHECK_FALSE(nothing.poll(heard));
}

TEST_CASE("an impossible count loops over one ring at most") {
  for (const std::uint64_t published : {~std::uint64_t{0} - 1, ~std::uint64_t{0}}) {
    AreaBuilder area;
    area.kernel(0, 1, 0, 10);
    area.live_thread(0, 1, published);
    RingFollower follower(area.bytes());
    Heard heard;
    poll_twice(follower, heard);
    CHECK(heard.ticks.empty());
  }
}

TEST_CASE("while two threads write, no record is repeated, reordered within its thread, or lost silently") {
  test::AreaShape shape;
  shape.ring = 64;
  AreaBuilder area(shape);
  area.live_thread(0, 1, 0), area.live_thread(1, 2, 0);
  constexpr std::uint64_t kRecords = 20000;
  std::atomic<std::uint64_t> clock = 0;
  std::atomic<int> running = 2;
  const auto write = [&](std::size_t thread) {
    for (std::uint64_t serial = 1; serial <= kRecords; ++serial) {
      std::byte* slot = area.ring(thread, (serial - 1) % shape.ring);
      wire::store_release(slot, wire::operation::kSerial, 0);
      std::atomic_thread_fence(std::memory_order_release);
      wire::store(slot, wire::operation::kThread, static_cast<decltype(wire::operation::kThread)::type>(thread));
      wire::atomic(slot, wire::operation::kTicks).store(++clock, std::memory_order_relaxed);
      wire::store_release(slot, wire::operation::kSerial,
                          static_cast<decltype(wire::operation::kSerial)::type>(serial));
      wire::store_release(area.thread(thread), wire::thread::kPublished, serial);
    }
    --running;
  };
  std::thread one(write, 0), two(write, 1);
  RingFollower follower(area.bytes());
  Heard heard;
  while (running > 0) follower.poll(heard);
  one.join(), two.join();
  follower.finish(heard);
  std::uint64_t lost = 0, last[2] = {};
  for (const auto& [count, until] : heard.gaps) lost += count;
  CHECK(heard.ticks.size() + lost == 2 * kRecords);
  for (std::size_t i = 0; i < heard.ticks.size(); ++i) {
    CHECK(heard.ticks[i] > last[heard.threads[i]]);
    last[heard.threads[i]] = heard.ticks[i];
  }
}
