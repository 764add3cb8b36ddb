// Markers inside graphs, in a rerun: a 32-bit write after each kernel, copy and memset of a graph shows that this node
// has finished.
//
// The writes are nodes of the program's own graph only during the call that makes or updates the executable graph:
// added at its ENTER and removed at its EXIT. Everything that depends on a node then also depends on its write, so a
// node that began proves the writes before it done. The driver allows this for no graph with allocations, conditions,
// launches from the device or programmatic edges: such graphs get no markers, and a note says so.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "record/cupti/driver_api.h"
#include "record/lock.h"
#include "record/output/area_map.h"
#include "record/output/interner.h"

namespace cudadiag::record {

// The words of an executable graph: one per node of its description, in its order.
struct GraphWords {
  std::uint32_t first = 0, count = 0;  // count 0: none
};

// The nodes that were added to a graph and must be removed again.
struct AddedMarkers {
  CUgraphNode* nodes = nullptr;  // null: nothing
  std::size_t count = 0;
  GraphWords words;
};

class GraphMarkers {
 public:
  void attach(AreaMap& area, Interner& interner, const DriverApi& driver);

  // ENTER. `words`: of the executable graph that is updated; none: it is being made, and gets words of its own.
  AddedMarkers add(CUgraph graph, bool for_device, GraphWords words = {});
  // EXIT of the same call. `added.words` stay.
  void remove(AddedMarkers& added, bool call_worked);

  // Before a launch while which nothing else runs.
  void clear(GraphWords words);

 private:
  class Adding;
  CUdeviceptr device_words();
  GraphWords take_words(std::size_t count);
  void note_once(const char* code, const char* text);

  AreaMap* area_ = nullptr;
  Interner* interner_ = nullptr;
  const DriverApi* driver_ = nullptr;
  std::byte* words_ = nullptr;
  std::atomic<std::uint32_t> used_ = 0;
  std::atomic<bool> noted_ = false;
};

}  // namespace cudadiag::record
