// Adds completion markers to graphs, in a rerun. A 32-bit write follows each kernel, copy and memset of a graph, and
// shows that the node has finished.
//
// The writes are graph nodes. The program's graph contains them only during the call that instantiates or updates the
// executable graph. They are added at the call's ENTER and removed at its EXIT. A node that depends on another node
// also depends on that node's write. Therefore, if a node has begun, the writes of all nodes before it are done. Graphs
// with allocations, conditional nodes, launches from the device or programmatic edges cannot contain these writes. For
// these graphs, the recorder leaves a note.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "record/driver_api.h"
#include "record/libc_substitutes.h"
#include "record/output/area_map.h"
#include "record/output/interner.h"

namespace cudadiag::record {

// The marker words of an executable graph: one for each node of its description, in the same order.
struct GraphWords {
  std::uint32_t first = 0, count = 0;  // count is 0 if there are none
};

// The nodes that were added to a graph and must be removed again.
struct AddedMarkers {
  CUgraphNode* nodes = nullptr;  // null if nothing was added
  std::size_t count = 0;
  GraphWords words;
};

class GraphMarkers {
 public:
  void attach(AreaMap& area, Interner& interner, const DriverApi& driver);

  // Adds markers to the graph. Call this at ENTER. If the call updates an executable graph, pass the words of that
  // graph. If the call instantiates the graph, leave `words` empty, and new words are assigned.
  AddedMarkers add(CUgraph graph, bool for_device, GraphWords words = {});
  // Removes the markers again. Call this at EXIT of the call for which add() was called. `added.words` stay in use.
  void remove(AddedMarkers& added, bool call_worked);

  // Call this before a launch during which nothing else runs.
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
