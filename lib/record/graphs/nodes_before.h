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

// Nodes by their index in a description (graph_description.h): `parents` has the record's field for each, `orders` a
// place for each. Returns whether any node comes before.
bool order_nodes(std::span<const std::uint32_t> parents, std::span<const GraphEdge> edges, std::uint32_t node,
                 std::span<NodeOrder> orders);

}  // namespace cudadiag::record
