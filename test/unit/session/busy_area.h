// Builds a small area with an entry in every table, for tests with hostile bytes. One thread has made four launches,
// one of which is unfinished on another stream. There is also a graph, and a sticky error that froze the state.
#pragma once

#include "unit/session/area_builder.h"

namespace cudadiag::test {

inline AreaBuilder busy_area() {
  namespace w = wire;
  AreaBuilder area({.intern_bytes = 1024});
  area.live_thread(0, 11, 4);
  area.live_stream(0);
  area.live_stream(1);
  for (std::uint64_t serial = 1; serial <= 4; ++serial) {
    std::byte* launch = area.kernel(0, serial, 0, serial);
    w::store(launch, w::operation::kSite, 1);
    w::store(launch, w::operation::kOrdinal, static_cast<std::uint32_t>(serial));
  }
  AreaBuilder::write_kernel(area.held(1, 0), 0, 9, 1, 9);
  const auto name = area.string("name");
  area.entry(w::intern::Tag::code, 4, {name, name, 1, 12}, "\x01\x02\x03\x04");
  area.entry(w::intern::Tag::python, 2, {1, 2, 1, 4});
  area.entry(w::intern::Tag::function, 0, {name, 0});
  area.entry(w::intern::Tag::site, 0, {1, 0, 1, 1});
  area.entry(w::intern::Tag::graph, 0, {1, 1, 1, 0});
  area.entry(w::intern::Tag::graph_nodes, 1, {1, 0, 1, 1, 1, 1, 1, 1, 1, 0});
  area.entry(w::intern::Tag::graph_edges, 1, {1, 0, 0, 0});
  area.entry(w::intern::Tag::graph, 0, {1, 1, 0, 1});
  area.entry(w::intern::Tag::graph_changes, 1, {2, 0, 0, 1});
  area.entry(w::intern::Tag::arguments, 1, {1, 0, 0, 0, 0, 8}, "12345678");
  area.layout(1, {2, 0, 8, 8, 4});
  area.parameters(0, 4, 1, "12345678ABCD");
  w::store(area.allocation(0, 0x1000, 64), w::allocation::kSite, 1);
  w::store(area.allocation(1, 0x2000, 64), w::allocation::kContext, 0);
  w::store(area.stream(0), w::stream::kIssued, 4);
  w::store(area.stream(0), w::stream::kMarkerIssued, 4);
  w::store(area.marker(0), w::marker::kCompleted, 2);
  w::store(area.frozen(0), w::frozen::kMarker, 2);
  w::store(area.error(0), w::error::kDomain, 1);
  w::store(area.error(0), w::error::kSerial, 1);
  w::store(area.error(0), w::error::kCode, 700);
  w::store(area.error(0), w::error::kSite, 1);
  w::store(area.error(0), w::error::kCallName, name);
  w::store(area.data(), w::area::kFrozenError, 1);
  w::store(area.data(), w::area::kFrozenCode, 700);
  area.state(w::area::State::frozen);
  return area;
}

}  // namespace cudadiag::test
