#include "races/access_history.h"

#include <doctest/doctest.h>

#include <random>

#include "unit/races/story.h"

namespace history_test {

using namespace cudadiag::races;

namespace {

Access strided(std::uint64_t begin, std::uint64_t width, std::uint64_t pitch, std::uint32_t rows) {
  Access access;
  access.begin = begin, access.width = width, access.pitch = pitch, access.rows = rows, access.exact = true;
  return access;
}

bool touches_byte_by_byte(const Access& a, const Access& b) {
  for (std::uint32_t i = 0; i < a.rows; ++i) {
    for (std::uint32_t j = 0; j < b.rows; ++j) {
      const std::uint64_t x = a.begin + i * a.pitch, y = b.begin + j * b.pitch;
      if (x < y + b.width && y < x + a.width) return true;
    }
  }
  return false;
}

}  // namespace

TEST_CASE("rows overlap exactly if a comparison of each pair says so") {
  std::mt19937 random(3);
  for (int round = 0; round < 20000; ++round) {
    const auto any = [&] {
      const std::uint64_t width = 1 + random() % 5;
      return strided(100 + random() % 40, width, width + random() % 12, 1 + random() % 4);
    };
    const Access a = any(), b = any();
    CHECK(touches(a, b) == touches_byte_by_byte(a, b));
  }
}

TEST_CASE("disjoint slices of one buffer do not meet, overlapping ones do") {
  for (const std::uint64_t second : {512, 511}) {
    Story s;
    const auto a = s.stream(), b = s.stream();
    s.memset(a, kA, 512);
    s.memset(b, kA + second, 512);
    CHECK(s.races() == (second == 512 ? 0 : 1));
  }
}

TEST_CASE("columns of one matrix do not meet, although their spans do") {
  for (const std::uint64_t column : {64, 63}) {
    Story s;
    const auto a = s.stream(), b = s.stream();
    s.rows(a, kA, 64, 1024, 100);
    s.rows(b, kA + column, 64, 1024, 100);
    CHECK(s.races() == (column == 64 ? 0 : 1));
  }
}

TEST_CASE("kernels that receive different addresses do not meet") {
  Story s;
  const auto a = s.stream(), b = s.stream();
  s.writes(a, kA), s.writes(b, kA + 8);
  CHECK(s.races() == 0);
}

TEST_CASE("a kernel that adds to its address before it uses memory has no certain race") {
  const auto tell = [](Mode near, const auto& other) {
    Story s;
    const auto a = s.non_blocking(), b = s.non_blocking();
    s.kernel(a, near);
    other(s, b);
    CHECK(s.races() == 0);
    return s.history.unjudged();
  };
  const auto copies_to = [](Story& s, StreamNumber on) { s.copy(on, kA, kB, 4096); };
  const auto copies_from = [](Story& s, StreamNumber on) { s.copy(on, kB, kA, 4096); };
  const auto does_the_same = [](Story& s, StreamNumber on) { s.kernel(on, Mode::near_write); };
  const auto reads_there = [](Story& s, StreamNumber on) { s.reads(on); };
  CHECK(tell(Mode::near_write, copies_to) == 1);
  CHECK(tell(Mode::near_write, copies_from) == 1);
  CHECK(tell(Mode::near_write, does_the_same) == 1);
  CHECK(tell(Mode::near_write, reads_there) == 1);
  CHECK(tell(Mode::near_read, copies_to) == 1);
  CHECK(tell(Mode::near_read, copies_from) == 0);
  CHECK(tell(Mode::near_read, reads_there) == 0);
}

TEST_CASE("freed memory counts as used wherever in it a kernel goes") {
  for (const Mode mode : {Mode::near_read, Mode::near_write}) {
    Story s;
    const auto a = s.non_blocking(), b = s.non_blocking();
    s.kernel(a, mode, kA + 512);
    s.range(b, What::free, kA, 4096);
    CHECK(s.one_race());
  }
}

TEST_CASE("a kernel meets a copy that contains its address, in either order") {
  for (const bool kernel_first : {false, true}) {
    for (const std::uint64_t address : {kA + 4095, kA + 4096}) {
      Story s;
      const auto a = s.stream(), b = s.stream();
      if (kernel_first) s.reads(a, address);
      s.copy(b, kA, kB, 4096);
      if (!kernel_first) s.reads(a, address);
      CHECK(s.races() == (address == kA + 4095 ? 1 : 0));
    }
  }
}

TEST_CASE("a copy reads its source and writes its destination") {
  Story s;
  const auto a = s.stream(), b = s.stream();
  s.copy(a, kA, kB, 4096);
  s.reads(b, kB);
  CHECK(s.races() == 0);
  s.reads(b, kA);
  CHECK(s.one_race());
}

TEST_CASE("the end of stream-ordered memory meets every remaining use of any part of it") {
  for (const bool waits : {false, true}) {
    Story s;
    const auto a = s.stream(), b = s.stream();
    s.range(a, What::allocation, kA, 1u << 20);
    s.order.event_made(1), s.order.event_recorded(1, a), s.order.event_waited(1, b);
    s.reads(b, kA + 4096);
    if (waits) s.order.event_recorded(1, b), s.order.event_waited(1, a);
    s.range(a, What::free, kA, 1u << 20);
    CHECK(s.races() == (waits ? 0 : 1));
  }
}

TEST_CASE("memory that is allocated again has no history") {
  for (const bool anew : {false, true}) {
    Story s;
    const auto a = s.stream(), b = s.stream();
    s.memset(a, kA, 4096), s.writes(a, kA + 16);
    if (anew) s.history.forget(kA, 4096);
    s.memset(b, kA, 4096);
    CHECK(s.races() == (anew ? 0 : 2));
  }
}

TEST_CASE("forgetting part of a range keeps the rest") {
  Story s;
  const auto a = s.stream(), b = s.stream();
  s.memset(a, kA, 4096);
  s.history.forget(kA + 1024, 1024);
  s.memset(b, kA + 1024, 1024);
  CHECK(s.races() == 0);
  s.memset(b, kA + 2048, 1);
  CHECK(s.races() == 1);
}

TEST_CASE("nothing is concluded across a gap") {
  Story s;
  const auto a = s.stream(), b = s.stream();
  s.writes(a);
  s.memset(a, kB, 16);
  s.history.forget_all();
  s.writes(b);
  s.memset(b, kB, 16);
  CHECK(s.races() == 0);
  CHECK(s.history.size() == 2);
  s.writes(a);
  CHECK(s.one_race());
}

TEST_CASE("the use of a kernel's pointer is determined only for unordered pairs") {
  Story s;
  const auto a = s.stream(), b = s.stream();
  s.kernel(a, Mode::unknown), s.kernel(a, Mode::unknown);
  CHECK(s.asked == 0);
  s.kernel(b, Mode::unknown);
  CHECK(s.asked > 0);
  CHECK(s.races() == 0);
}

TEST_CASE("the verdict on each pair of modes") {
  using enum Mode;
  const auto outcome = [](Mode first, Mode second) {
    Story s;
    s.modes = {{{1, 0}, first}, {{2, 0}, second}};
    const auto a = s.stream(), b = s.stream();
    s.kernel(a, unknown), s.kernel(b, unknown);
    return s.races() == 0 ? 0 : s.one_possible_race() ? 1 : 2;
  };
  const auto both_ways = [&](Mode x, Mode y, int expected) {
    CHECK(outcome(x, y) == expected);
    CHECK(outcome(y, x) == expected);
  };
  both_ways(write, write, 2), both_ways(write, read, 2), both_ways(write, unknown, 2), both_ways(write, atomic, 2);
  both_ways(atomic, read, 2), both_ways(atomic, atomic, 0), both_ways(atomic, unknown, 1);
  both_ways(read, read, 0), both_ways(read, unknown, 1), both_ways(unknown, unknown, 0);
  both_ways(none, write, 0), both_ways(none, unknown, 0);
}

TEST_CASE("an address that an unknown kernel receives on several streams may be only a base") {
  for (const bool several : {false, true}) {
    for (const Mode mode : {Mode::unknown, Mode::read}) {
      Story s;
      const auto a = s.stream(), b = s.stream();
      s.memset(a, kA, 64);
      Access access;
      access.begin = kA, access.function = 1, access.mode = mode;
      if (several) access.at = s.order.issue(a), access.stream = a, s.history.add(access);
      access.at = s.order.issue(b), access.stream = b, s.history.add(access);
      REQUIRE(s.races() == 1);
      CHECK(s.history.races().front().possible == (several && mode == Mode::unknown));
    }
  }
}

TEST_CASE("a pair of lines is listed once, and counted") {
  Story s;
  const auto a = s.stream(), b = s.stream();
  for (int i = 0; i < 10; ++i) {
    for (const auto& [stream, site] : {std::pair{a, 1u}, {b, 2u}}) {
      Access access;
      access.at = s.order.issue(stream), access.stream = stream, access.site = site, access.begin = kA;
      access.mode = Mode::write;
      s.history.add(access);
    }
  }
  REQUIRE(s.races() == 1);
  CHECK(s.history.races().front().times == 19);
}

TEST_CASE("memory for accesses is bounded, and accesses that can no longer race go first") {
  Story s;
  History small(s.order, {}, 1000);
  const auto a = s.stream(), b = s.stream();
  const auto write = [&](StreamNumber stream, std::uint64_t address) {
    Access access;
    access.at = s.order.issue(stream), access.stream = stream, access.site = stream + 1, access.begin = address;
    access.mode = Mode::write;
    small.add(access);
  };
  for (std::uint64_t i = 0; i < 900; ++i) write(a, kA + 16 * i);
  s.order.stream_seen(a);
  for (std::uint64_t i = 0; i < 100; ++i) write(a, kB + 16 * i);
  write(a, kB + 4096);
  CHECK(small.forgotten() == 0);
  CHECK(small.size() == 101);
  write(b, kB);
  CHECK(small.races().size() == 1);
  for (std::uint64_t i = 0; i < 5000; ++i) write(a, 16 * i + 16);
  CHECK(small.size() <= 1000);
  CHECK(small.forgotten() > 0);
}

TEST_CASE("many accesses of one stream do not displace another stream's") {
  for (const Mode later : {Mode::read, Mode::unknown}) {
    Story s;
    const auto a = s.stream(), b = s.stream(), c = s.stream();
    s.kernel(a, Mode::unknown);
    for (int i = 0; i < 20; ++i) s.kernel(b, later);
    s.memset(b, kA, 64);
    REQUIRE(s.races() > 0);
    CHECK_FALSE(s.history.races().back().possible);
    CHECK(s.history.forgotten() == 0);
    s.memset(c, kA, 64);
    CHECK(s.history.forgotten() == (later == Mode::read ? 0 : 13));
  }
}

TEST_CASE("a writer meets readers on many streams") {
  for (const std::size_t unordered : {0, 7, 39}) {
    Story s;
    std::vector<StreamNumber> readers;
    for (int i = 0; i < 40; ++i) readers.push_back(s.non_blocking());
    const auto writer = s.non_blocking();
    for (std::size_t i = 0; i < readers.size(); ++i) {
      s.order.event_made(i);
      s.range(readers[i], What::copy, kA, 64, Mode::read);
      s.order.event_recorded(i, readers[i]);
      if (i != unordered) s.order.event_waited(i, writer);
    }
    s.memset(writer, kA, 64);
    CHECK(s.one_race());
    CHECK(s.history.forgotten() == 0);
  }
}

TEST_CASE("the number of accesses kept per place is bounded, and dropped ones are counted") {
  Story s;
  for (int i = 0; i < 1000; ++i) s.reads(s.non_blocking());
  CHECK(s.history.size() < 100);
  CHECK(s.history.forgotten() + s.history.size() == 1000);
}

TEST_CASE("accesses that a later one makes redundant go first, and never the only write") {
  Story s;
  const auto a = s.stream(), b = s.stream();
  s.writes(a);
  for (int i = 0; i < 20; ++i) s.reads(a);
  CHECK(s.history.forgotten() == 0);
  s.reads(b);
  CHECK(s.one_race());
}

TEST_CASE("random programs with crowded places have the races that a full search finds") {
  std::mt19937 random(12);
  std::size_t with = 0;
  for (int round = 0; round < 300; ++round) {
    Story s;
    std::vector<StreamNumber> streams;
    for (int i = 0; i < 12; ++i) streams.push_back(s.non_blocking());
    std::vector<Access> all;
    bool expected = false;
    const auto rarely = 2 + random() % 30;
    for (int step = 0; step < 120 && !expected; ++step) {
      const StreamNumber stream = streams[random() % streams.size()], other = streams[random() % streams.size()];
      const std::uint64_t event = random();
      Access access;
      access.mode = random() % rarely == 0 ? Mode::write : Mode::read;
      const bool joins_all = access.mode == Mode::write && random() % 32 != 0;
      for (const StreamNumber each : streams) {
        if (!joins_all && each != other) continue;
        s.order.event_made(event), s.order.event_recorded(event, each), s.order.event_waited(event, stream);
      }
      access.at = s.order.issue(stream), access.stream = stream;
      access.site = static_cast<std::uint32_t>(all.size() + 1), access.exact = true, access.what = What::memset;
      access.begin = kA + random() % 3, access.width = 1 + random() % 20;
      for (const Access& earlier : all) {
        const bool writes = earlier.mode == Mode::write || access.mode == Mode::write;
        expected |= writes && touches(earlier, access) && !s.order.before(earlier, stream);
      }
      s.history.add(access);
      all.push_back(access);
      if (access.mode != Mode::write || random() % 32 == 0) continue;
      s.order.event_recorded(event, stream);
      for (const StreamNumber each : streams) s.order.event_waited(event, each);
    }
    CHECK((s.races() > 0) == expected);
    with += expected ? 1 : 0;
  }
  CHECK(with > 50);
  CHECK(with < 290);
}

TEST_CASE("random programs have the races that a full search finds") {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    Story s;
    std::vector<StreamNumber> streams;
    for (int i = 0; i < 4; ++i) streams.push_back(i == 0 ? s.legacy() : i == 1 ? s.stream() : s.non_blocking());
    for (std::uint64_t event = 0; event < 3; ++event) s.order.event_made(event);
    std::vector<Access> all;
    bool expected = false;
    for (int step = 0; step < 25 && !expected; ++step) {
      const StreamNumber stream = streams[random() % streams.size()];
      switch (random() % 5) {
        case 0:
          s.order.event_recorded(random() % 3, stream);
          break;
        case 1:
          s.order.event_waited(random() % 3, stream);
          break;
        case 2:
          random() % 2 == 0 ? s.order.event_seen(random() % 3) : s.order.stream_seen(stream);
          break;
        default: {
          Access access;
          access.at = s.order.issue(stream), access.stream = stream;
          access.site = static_cast<std::uint32_t>(all.size() + 1), access.exact = true, access.what = What::memset;
          access.begin = kA + random() % 8, access.width = 1 + random() % 8;
          access.mode = random() % 2 == 0 ? Mode::read : Mode::write;
          for (const Access& earlier : all) {
            const bool writes = earlier.mode == Mode::write || access.mode == Mode::write;
            expected |= writes && touches(earlier, access) && !s.order.before(earlier, stream);
          }
          s.history.add(access);
          all.push_back(access);
        }
      }
    }
    CHECK((s.races() > 0) == expected);
  }
}

TEST_CASE("pairs that cannot be judged are kept, once per pair of parameters") {
  Story s;
  const StreamNumber a = s.stream(), b = s.stream();
  const auto kernel = [&](StreamNumber stream, std::uint32_t site, std::uint32_t parameter) {
    Access access;
    access.at = s.order.issue(stream), access.stream = stream;
    access.site = access.function = site, access.parameter = parameter;
    access.begin = kA + parameter;
    s.history.add(access);
  };
  for (int step = 0; step < 3; ++step) {
    for (const std::uint32_t parameter : {0u, 8u}) {
      kernel(a, 1, parameter);
      kernel(b, 2, parameter);
      s.order.stream_seen(a), s.order.stream_seen(b);
    }
  }
  CHECK(s.races() == 0);
  CHECK(s.history.unjudged() == 6);
  REQUIRE(s.history.unjudged_pairs().size() == 2);
  CHECK(s.history.unjudged_pairs()[0].times == 3);
  CHECK(s.history.unjudged_pairs()[1].first.parameter == 8);
  for (std::uint32_t site = 10; site < 200; ++site) {
    kernel(a, site, 0);
    kernel(b, site + 1000, 0);
    s.order.stream_seen(a), s.order.stream_seen(b);
  }
  CHECK(s.history.unjudged() == 196);
  CHECK(s.history.unjudged_pairs().size() == History::kMostUnjudged);
}

TEST_CASE("a race says whether it represents pairs with other parameters") {
  for (const bool other : {false, true}) {
    Story s;
    const StreamNumber a = s.stream(), b = s.stream();
    for (const std::uint32_t parameter : {0u, other ? 8u : 0u}) {
      for (const StreamNumber stream : {a, b}) {
        Access access;
        access.at = s.order.issue(stream), access.stream = stream;
        access.site = access.function = stream + 1, access.parameter = parameter;
        access.begin = kA + parameter, access.mode = Mode::write;
        s.history.add(access);
      }
      s.order.stream_seen(a), s.order.stream_seen(b);
    }
    REQUIRE(s.races() == 1);
    CHECK(s.history.races()[0].times == 2);
    CHECK(s.history.races()[0].several == other);
  }
}

}  // namespace history_test
