#include <doctest/doctest.h>

#include <vector>

#include "session/ring_follower.h"
#include "unit/session/area_builder.h"

using namespace cudadiag;

TEST_CASE("a stream is certainly busy if a marker after its work is not written") {
  test::AreaBuilder area;
  area.live_stream(0);
  wire::store(area.stream(0), wire::stream::kIssued, 7u);
  wire::store(area.stream(0), wire::stream::kCreated, std::uint64_t{99});
  wire::store(area.marker(0), wire::marker::kCompleted, 5u);
  std::vector<session::StreamProgress> streams = session::stream_progress(area.bytes());
  REQUIRE(streams.size() == 2);
  CHECK(streams[0].created == 99);
  CHECK(streams[0].completed == 5);
  CHECK(streams[0].busy());
  CHECK(!streams[0].certainly_busy());
  CHECK(streams[1].created == 0);
  CHECK(!streams[1].busy());

  wire::store(area.stream(0), wire::stream::kMarkerIssued, 7u);
  CHECK(session::stream_progress(area.bytes())[0].certainly_busy());
  wire::store(area.data(), wire::area::kMarkersPrivate, 1u);
  CHECK(!session::stream_progress(area.bytes())[0].certainly_busy());
  wire::store(area.data(), wire::area::kMarkersPrivate, 0u);
  wire::store(area.stream(0), wire::stream::kHostCompleted, 7u);
  CHECK(!session::stream_progress(area.bytes())[0].busy());
}

TEST_CASE("bytes that are not an area have no streams") {
  const std::vector<std::byte> bytes(16);
  CHECK(session::stream_progress(bytes).empty());
}
