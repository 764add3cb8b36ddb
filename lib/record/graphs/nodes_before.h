// Which nodes of a graph must have finished before a given node may begin.
#pragma once

#include <cstdint>
#include <span>

#include "record/output/interner.h"

namespace cudadiag::record {

enum class NodeOrder : std::uint8_t {
  apart,   // may run at any time, or after the given node
  itself,  // the given node, or a child graph that contains it
  before,  // must have finished before the given node begins
};

// For each node, stores in `orders` when it runs relative to `node`. Returns whether any node must finish before `node`
// begins. `parents` has the parent of each node, as in the node's record (graph_description.h).
bool order_nodes(std::span<const std::uint32_t> parents, std::span<const GraphEdge> edges, std::uint32_t node,
                 std::span<NodeOrder> orders);

}  // namespace cudadiag::record
