// Types of graph nodes, numbered as in CUgraphNodeType, and which of them get completion markers.
#pragma once

#include <cstdint>

namespace cudadiag::wire::graph_node {

inline constexpr std::uint8_t kKernel = 0, kCopy = 1, kMemset = 2, kChildGraph = 4;
inline constexpr std::uint8_t kEventWait = 6, kEventRecord = 7;
inline constexpr std::uint8_t kAllocation = 10, kFree = 11, kConditional = 13;

// Returns true if the node can raise a device exception. Only these nodes get markers.
constexpr bool is_marked(std::uint8_t type) { return type == kKernel || type == kCopy || type == kMemset; }
// Returns true if a graph with a node of this type cannot have markers. No node can be added to a graph with allocation
// or free nodes, and the recorder cannot change the body of a conditional node.
constexpr bool forbids_markers(std::uint8_t type) {
  return type == kAllocation || type == kFree || type == kConditional;
}

}  // namespace cudadiag::wire::graph_node
