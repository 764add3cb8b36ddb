// Which nodes of a graph must have finished before one of them may begin.
#pragma once

#include <cstdint>
#include <span>

#include "record/output/interner.h"

namespace cudadiag::record {

enum class NodeOrder : std::uint8_t {
  apart,   // it may run at any time, or after the node
  itself,  // the node, or a child graph that it lies in
  before,
};

// `parents` has the parent of each node of a description (graph_description.h), as in its record. `orders` gets the
// order of each node. Returns whether any node comes before.
bool order_nodes(std::span<const std::uint32_t> parents, std::span<const GraphEdge> edges, std::uint32_t node,
                 std::span<NodeOrder> orders);

}  // namespace cudadiag::record
