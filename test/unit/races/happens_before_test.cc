#include <doctest/doctest.h>

#include "unit/races/story.h"

namespace order_test {

using namespace cudadiag::races;

namespace {

constexpr std::uint64_t kFirstEvent = 0xe1, kOtherEvent = 0xe2;
}  // namespace

TEST_CASE("accesses of two streams without any order race") {
  Story s;
  const auto a = s.stream(), b = s.stream();
  s.writes(a);
  s.reads(b);
  CHECK(s.one_race());
  CHECK(s.history.races().front().first.stream == a);
  CHECK(s.history.races().front().second.stream == b);
  CHECK_FALSE(s.history.races().front().ever_waited);
}

TEST_CASE("one stream orders its own operations") {
  Story s;
  const auto a = s.stream();
  s.writes(a), s.reads(a), s.writes(a);
  CHECK(s.races() == 0);
}

TEST_CASE("two reads do not race") {
  Story s;
  const auto a = s.stream(), b = s.stream();
  s.reads(a), s.reads(b);
  CHECK(s.races() == 0);
}

TEST_CASE("a stream that waits for the event comes after what was before it") {
  Story s;
  const auto a = s.stream(), b = s.stream();
  s.order.event_made(kFirstEvent);
  s.writes(a);
  s.order.event_recorded(kFirstEvent, a);
  s.order.event_waited(kFirstEvent, b);
  s.reads(b);
  CHECK(s.races() == 0);
}

TEST_CASE("an event that was recorded too early does not order what follows the record") {
  Story s;
  const auto a = s.stream(), b = s.stream();
  s.order.event_made(kFirstEvent);
  s.order.event_recorded(kFirstEvent, a);
  s.writes(a);
  s.order.event_waited(kFirstEvent, b);
  s.reads(b);
  CHECK(s.one_race());
  CHECK(s.history.races().front().ever_waited);
}

TEST_CASE("a wait that comes before the record waits for nothing") {
  Story s;
  const auto a = s.stream(), b = s.stream();
  s.order.event_made(kFirstEvent);
  s.writes(a);
  s.order.event_waited(kFirstEvent, b);
  s.order.event_recorded(kFirstEvent, a);
  s.reads(b);
  CHECK(s.one_race());
}

TEST_CASE("a new event with the same handle forgets earlier records") {
  for (const bool again : {false, true}) {
    Story s;
    const auto a = s.stream(), b = s.stream();
    s.order.event_made(kFirstEvent);
    s.writes(a);
    s.order.event_recorded(kFirstEvent, a);
    if (again) s.order.event_made(kFirstEvent);
    s.order.event_waited(kFirstEvent, b);
    s.writes(b);
    CHECK(s.races() == (again ? 1 : 0));
  }
}

TEST_CASE("a second record of an event replaces the first") {
  for (const bool replaced : {false, true}) {
    Story s;
    const auto a = s.stream(), b = s.stream(), c = s.stream();
    s.order.event_made(kFirstEvent);
    s.writes(a);
    s.order.event_recorded(kFirstEvent, a);
    if (replaced) s.order.event_recorded(kFirstEvent, c);
    s.order.event_waited(kFirstEvent, b);
    s.writes(b);
    CHECK(s.races() == (replaced ? 1 : 0));
  }
}

TEST_CASE("an event that was never seen may order anything") {
  Story s;
  const auto a = s.stream(), b = s.stream();
  s.writes(a);
  s.order.event_waited(kFirstEvent, b);
  s.writes(b);
  CHECK(s.one_possible_race());
  CHECK(s.history.races().front().uncertain);
}

TEST_CASE("order is transitive along a chain of events") {
  for (const bool broken : {false, true}) {
    Story s;
    const auto a = s.stream(), b = s.stream(), c = s.stream();
    s.order.event_made(kFirstEvent), s.order.event_made(kOtherEvent);
    s.writes(a);
    s.order.event_recorded(kFirstEvent, a);
    if (!broken) s.order.event_waited(kFirstEvent, b);
    s.order.event_recorded(kOtherEvent, b);
    s.order.event_waited(kOtherEvent, c);
    s.writes(c);
    CHECK(s.races() == (broken ? 1 : 0));
  }
}

TEST_CASE("a writer must wait for all readers, not only for the last one") {
  for (const bool both : {false, true}) {
    Story s;
    const auto a = s.stream(), b = s.stream(), c = s.stream();
    s.order.event_made(kFirstEvent), s.order.event_made(kOtherEvent);
    s.reads(a), s.reads(b);
    s.order.event_recorded(kFirstEvent, a), s.order.event_recorded(kOtherEvent, b);
    if (both) s.order.event_waited(kFirstEvent, c);
    s.order.event_waited(kOtherEvent, c);
    s.writes(c);
    CHECK(s.races() == (both ? 0 : 1));
  }
}

TEST_CASE("a writer races with every reader") {
  Story s;
  const auto a = s.stream(), b = s.stream(), c = s.stream();
  s.reads(a), s.reads(b), s.writes(c);
  CHECK(s.races() == 2);
}

TEST_CASE("everything that the host has seen finish comes before all that follows") {
  enum class Wait { none, stream, other_stream, event, context, other_context };
  for (const auto& [wait, races] : {std::pair{Wait::none, 1},
                                    {Wait::stream, 0},
                                    {Wait::other_stream, 1},
                                    {Wait::event, 0},
                                    {Wait::context, 0},
                                    {Wait::other_context, 1}}) {
    Story s;
    const auto a = s.stream(), b = s.stream();
    s.order.event_made(kFirstEvent);
    s.writes(a);
    s.order.event_recorded(kFirstEvent, a);
    if (wait == Wait::stream) s.order.stream_seen(a);
    if (wait == Wait::other_stream) s.order.stream_seen(b);
    if (wait == Wait::event) s.order.event_seen(kFirstEvent);
    if (wait == Wait::context) s.order.context_seen(0);
    if (wait == Wait::other_context) s.order.context_seen(1);
    s.writes(b);
    CHECK(s.races() == races);
  }
}

TEST_CASE("the host's wait does not cover what is issued after it") {
  Story s;
  const auto a = s.stream(), b = s.stream();
  s.order.stream_seen(a);
  s.order.context_seen(0);
  s.writes(a), s.writes(b);
  CHECK(s.one_race());
}

TEST_CASE("an event that the host has seen covers what came before it, not what came after") {
  for (const bool behind : {false, true}) {
    Story s;
    const auto a = s.stream(), b = s.stream();
    s.order.event_made(kFirstEvent);
    if (!behind) s.writes(a);
    s.order.event_recorded(kFirstEvent, a);
    if (behind) s.writes(a);
    s.order.event_seen(kFirstEvent);
    s.writes(b);
    CHECK(s.races() == (behind ? 1 : 0));
  }
}

TEST_CASE("the host's wait covers what its stream had waited for") {
  for (const bool waited : {false, true}) {
    Story s;
    const auto a = s.stream(), b = s.stream(), c = s.stream();
    s.order.event_made(kFirstEvent);
    s.writes(a);
    s.order.event_recorded(kFirstEvent, a);
    if (waited) s.order.event_waited(kFirstEvent, b);
    s.order.stream_seen(b);
    s.writes(c);
    CHECK(s.races() == (waited ? 0 : 1));
  }
}

TEST_CASE("a stream that was created after the host's wait comes after everything that the host saw") {
  for (const bool waited : {false, true}) {
    Story s;
    const auto a = s.stream();
    s.writes(a);
    if (waited) s.order.context_seen(0);
    s.writes(s.stream());
    CHECK(s.races() == (waited ? 0 : 1));
  }
}

TEST_CASE("the legacy stream waits for blocking streams, not for others") {
  for (const bool blocking : {false, true}) {
    Story s;
    const auto zero = s.legacy(), a = blocking ? s.stream() : s.non_blocking();
    s.writes(a), s.writes(zero);
    CHECK(s.races() == (blocking ? 0 : 1));
  }
}

TEST_CASE("blocking streams wait for the legacy stream, others do not") {
  for (const bool blocking : {false, true}) {
    Story s;
    const auto zero = s.legacy(), a = blocking ? s.stream() : s.non_blocking();
    s.writes(zero), s.writes(a);
    CHECK(s.races() == (blocking ? 0 : 1));
  }
}

TEST_CASE("an operation on the legacy stream orders two blocking streams") {
  for (const bool between : {false, true}) {
    Story s;
    const auto zero = s.legacy(), a = s.stream(), b = s.stream();
    s.writes(a);
    if (between) s.reads(zero, kB);
    s.writes(b);
    CHECK(s.races() == (between ? 0 : 1));
  }
}

TEST_CASE("the legacy stream of another context orders nothing") {
  Story s;
  const auto zero = s.legacy(1), a = s.stream(0), b = s.stream(0);
  s.writes(a), s.reads(zero, kB), s.writes(b);
  CHECK(s.one_race());
}

TEST_CASE("an earlier wait of a blocking stream also counts through the legacy stream") {
  for (const bool waited : {false, true}) {
    Story s;
    const auto zero = s.legacy(), a = s.non_blocking(), b = s.stream(), c = s.stream();
    s.order.event_made(kFirstEvent);
    s.writes(a);
    s.order.event_recorded(kFirstEvent, a);
    if (waited) s.order.event_waited(kFirstEvent, b);
    s.reads(zero, kB);
    s.writes(c);
    CHECK(s.races() == (waited ? 0 : 1));
  }
}

TEST_CASE("an event on the legacy stream covers the blocking streams") {
  for (const bool blocking : {false, true}) {
    Story s;
    const auto zero = s.legacy(), a = blocking ? s.stream() : s.non_blocking(), b = s.non_blocking();
    s.order.event_made(kFirstEvent);
    s.writes(a);
    s.order.event_recorded(kFirstEvent, zero);
    s.order.event_waited(kFirstEvent, b);
    s.writes(b);
    CHECK(s.races() == (blocking ? 0 : 1));
  }
}

TEST_CASE("a wait for the legacy stream is a wait for the blocking ones") {
  for (const bool blocking : {false, true}) {
    Story s;
    const auto zero = s.legacy(), a = blocking ? s.stream() : s.non_blocking(), b = s.non_blocking();
    s.writes(a);
    s.order.stream_seen(zero);
    s.writes(b);
    CHECK(s.races() == (blocking ? 0 : 1));
  }
}

TEST_CASE("a word in memory may order streams, so a race is only possible") {
  Story s;
  const auto a = s.stream(), b = s.stream();
  s.writes(a);
  s.order.word_waited(kB, b);
  s.writes(b);
  CHECK(s.one_possible_race());
}

TEST_CASE("a stream that waits for a word comes after the stream that wrote it before") {
  Story s;
  const auto a = s.stream(), b = s.stream();
  s.writes(a);
  s.order.word_written(kB, a);
  s.order.word_waited(kB, b);
  s.writes(b);
  CHECK(s.races() == 0);
}

TEST_CASE("a wait for a word ends with a matching value, the one that all other writes follow") {
  for (const bool counts : {true, false}) {
    Story s;
    const auto a = s.stream(), b = s.stream();
    s.order.event_made(kFirstEvent);
    for (std::uint64_t round = 1; round <= 100; ++round) {
      const std::uint64_t value = counts ? round : 1;
      s.writes(a);
      s.order.word_written(kB, a, value);
      s.order.word_waited(kB, b, [=](std::uint64_t word) { return word >= value; });
      s.writes(b);
      s.order.event_recorded(kFirstEvent, b);
      s.order.event_waited(kFirstEvent, a);
    }
    CHECK((counts ? s.races() == 0 : s.races() > 0 && s.history.races().front().possible));
  }
}

TEST_CASE("a value that was overwritten before the waiting stream got there ends no wait") {
  enum class Anew { never, by_word, by_memset, unordered };
  for (const Anew anew : {Anew::never, Anew::by_word, Anew::by_memset, Anew::unordered}) {
    Story s;
    const auto a = s.stream(), b = s.stream(), c = s.stream();
    s.order.event_made(kFirstEvent);
    const auto one = [](std::uint64_t word) { return word == 1; };
    for (int round = 0; round < 3; ++round) {
      s.writes(a);
      s.order.word_written(kB, a, 1);
      s.order.word_waited(kB, b, one);
      s.writes(b);
      if (anew == Anew::by_word) s.order.word_written(kB, b, 0);
      if (anew == Anew::by_memset) s.order.issue(b), s.order.words_overwritten(kB - 8, kB + 1, b);
      if (anew == Anew::unordered) s.order.word_written(kB, c, 0);
      s.order.event_recorded(kFirstEvent, b);
      s.order.event_waited(kFirstEvent, a);
    }
    CHECK((s.races() == 0) == (anew == Anew::by_word || anew == Anew::by_memset));
  }
}

TEST_CASE("a word that two streams wrote, neither after the other, orders nothing") {
  for (const std::uint64_t other : {1, 2}) {
    Story s;
    const auto a = s.stream(), b = s.stream(), c = s.stream();
    s.writes(a);
    s.order.word_written(kB, a, 1);
    s.order.word_written(kB, c, other);
    s.order.word_waited(kB, b, [](std::uint64_t word) { return word == 1; });
    s.writes(b);
    CHECK((other == 1 ? s.one_possible_race() : s.races() == 0));
  }
}

TEST_CASE("something that a host function may have told the host is not a certain race") {
  for (const bool told : {false, true}) {
    Story s;
    const auto a = s.stream(), b = s.stream();
    s.writes(a);
    if (told) s.order.host_told(a);
    s.writes(b);
    CHECK((told ? s.one_possible_race() : s.one_race()));
  }
}

TEST_CASE("a wait for another process leaves what follows uncertain, in other streams too") {
  Story s;
  const auto a = s.stream(), b = s.stream(), c = s.stream();
  s.order.event_made(kFirstEvent);
  s.writes(a);
  s.order.stranger_waited(b);
  s.order.event_recorded(kFirstEvent, b);
  s.order.event_waited(kFirstEvent, c);
  s.writes(c);
  CHECK(s.one_possible_race());
}

TEST_CASE("a host function also tells what its stream had waited for") {
  for (const bool waited : {false, true}) {
    Story s;
    const auto a = s.stream(), b = s.stream(), c = s.stream();
    s.order.event_made(kFirstEvent);
    s.writes(a);
    s.order.event_recorded(kFirstEvent, a);
    if (waited) s.order.event_waited(kFirstEvent, b);
    s.order.host_told(b);
    s.writes(c);
    CHECK((waited ? s.one_possible_race() : s.one_race()));
  }
}

TEST_CASE("an event of a stream that waited for a word leaves everything before it uncertain") {
  enum class By { nothing, stream, context, event, host_function, word };
  for (const By by : {By::nothing, By::stream, By::context, By::event, By::host_function, By::word}) {
    Story s;
    const auto a = s.stream(0), b = s.stream(1), c = s.stream(0);
    s.order.event_made(kFirstEvent);
    s.order.word_waited(kB, b);
    s.order.event_recorded(kFirstEvent, b);
    s.writes(a);
    if (by == By::stream) s.order.stream_seen(b);
    if (by == By::context) s.order.context_seen(1);
    if (by == By::event) s.order.event_seen(kFirstEvent);
    if (by == By::host_function) s.order.host_told(b);
    if (by == By::word) s.order.word_written(kB + 8, b);
    s.writes(c);
    CHECK((by == By::nothing ? s.one_race() : s.one_possible_race()));
    s.writes(c, kB), s.writes(a, kB);
    CHECK(s.races() == 2);
    CHECK_FALSE(s.history.races().back().possible);
  }
}

TEST_CASE("a wait for a word that the host has seen end does not affect later operations") {
  enum class Seen { nothing, stream, context, event };
  for (const bool waiter_first : {false, true}) {
    for (const Seen seen : {Seen::nothing, Seen::stream, Seen::context, Seen::event}) {
      Story s;
      const auto a = s.non_blocking(), b = s.non_blocking();
      s.order.event_made(kFirstEvent);
      s.order.event_recorded(kFirstEvent, b);
      s.order.word_waited(kB, b);
      if (seen == Seen::stream) s.order.stream_seen(b);
      if (seen == Seen::context) s.order.context_seen(0);
      if (seen == Seen::event) s.order.event_seen(kFirstEvent);
      s.writes(waiter_first ? b : a), s.writes(waiter_first ? a : b);
      const bool over = seen == Seen::stream || seen == Seen::context;
      CHECK((over ? s.one_race() : s.one_possible_race()));
    }
  }
}

TEST_CASE("whatever a stream waited for through a word stays uncertain after the host has seen it") {
  Story s;
  const auto a = s.non_blocking(), b = s.non_blocking();
  s.order.word_waited(kB, b);
  s.writes(a);
  s.order.stream_seen(b);
  s.writes(b);
  CHECK(s.one_possible_race());
}

TEST_CASE("a stream that waits for a word may wait for what is issued after its own operation") {
  Story s;
  const auto a = s.stream(), b = s.stream();
  s.order.word_waited(kB, b);
  s.writes(b);
  s.writes(a);
  CHECK(s.one_possible_race());
}

TEST_CASE("an unknown event leaves everything before it uncertain when the host sees it") {
  for (const bool known : {false, true}) {
    Story s;
    const auto a = s.stream(), b = s.stream();
    if (known) s.order.event_made(kFirstEvent);
    s.writes(a);
    s.order.event_seen(kFirstEvent);
    s.writes(b);
    CHECK((known ? s.one_race() : s.one_possible_race()));
  }
}

TEST_CASE("launches of one executable graph follow each other") {
  for (const bool same : {false, true}) {
    Story s;
    const auto a = s.stream(), b = s.stream();
    s.order.graph_launched(0x91, a);
    Access access;
    access.at = s.order.now(), access.stream = a, access.begin = kA, access.mode = Mode::write, access.site = 7;
    s.history.add(access);
    access.at = s.order.graph_launched(same ? 0x91 : 0x92, b), access.stream = b;
    s.history.add(access);
    CHECK(s.races() == (same ? 0 : 1));
  }
}

TEST_CASE("launches of an executable graph do not follow those of an earlier graph with the same handle") {
  for (const bool gone : {false, true}) {
    Story s;
    const auto a = s.stream(), b = s.stream();
    s.writes(a);
    s.order.graph_launched(1, a);
    if (gone) s.order.graph_gone(1);
    s.order.graph_launched(1, b);
    s.writes(b);
    CHECK(s.races() == (gone ? 1 : 0));
  }
}

TEST_CASE("a wait for a context covers the work of its destroyed streams") {
  enum class By { nothing, context, legacy, event };
  for (const By by : {By::nothing, By::context, By::legacy, By::event}) {
    for (const bool directly : {true, false}) {
      Story s;
      const auto zero = s.legacy(), a = s.non_blocking(), b = s.stream(), c = s.stream();
      s.order.event_made(kFirstEvent), s.order.event_made(kOtherEvent);
      s.writes(directly ? b : a);
      s.order.event_recorded(kOtherEvent, a);
      s.order.event_waited(kOtherEvent, b);
      s.order.event_recorded(kFirstEvent, b);
      s.order.stream_gone(b);
      if (by == By::context) s.order.context_seen(0);
      if (by == By::legacy) s.reads(zero, kB);
      if (by == By::event) s.order.event_waited(kFirstEvent, c);
      s.writes(c);
      CHECK(s.races() == (by == By::nothing ? 1 : 0));
    }
  }
}

TEST_CASE("twenty thousand streams are created and destroyed between the same two") {
  Story s;
  const auto a = s.non_blocking();
  s.order.event_made(kFirstEvent), s.order.event_made(kOtherEvent);
  for (int i = 0; i < 20000; ++i) {
    s.writes(a);
    s.order.event_recorded(kFirstEvent, a);
    const auto b = s.non_blocking();
    s.order.event_waited(kFirstEvent, b);
    s.writes(b);
    s.order.event_recorded(kOtherEvent, b);
    s.order.stream_gone(b);
    s.order.event_waited(kOtherEvent, a);
  }
  CHECK(s.races() == 0);
  s.writes(s.non_blocking());
  CHECK(s.races() > 0);
}

TEST_CASE("a thousand streams that pass work on in a ring have no race, unless one is skipped") {
  for (const bool gap : {false, true}) {
    Story s;
    std::vector<StreamNumber> streams(1000);
    for (auto& stream : streams) stream = s.non_blocking();
    for (std::size_t i = 0; i < streams.size(); ++i) {
      if (i > 0 && !(gap && i == 500)) s.order.event_waited(i - 1, streams[i]);
      s.writes(streams[i]);
      s.order.event_made(i);
      s.order.event_recorded(i, streams[i]);
    }
    CHECK((s.races() > 0) == gap);
  }
}

}  // namespace order_test
