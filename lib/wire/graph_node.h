// Types of graph nodes, numbered as in CUgraphNodeType. Says which types can help to find a failed node.
#pragma once

#include <cstdint>

namespace cudadiag::wire::graph_node {

inline constexpr std::uint8_t kKernel = 0, kCopy = 1, kMemset = 2, kChildGraph = 4;
inline constexpr std::uint8_t kEventWait = 6, kEventRecord = 7;
inline constexpr std::uint8_t kAllocation = 10, kFree = 11, kConditional = 13;

// Whether the node can raise a device exception. Only such nodes get markers.
constexpr bool is_marked(std::uint8_t type) { return type == kKernel || type == kCopy || type == kMemset; }
// Whether the node makes markers impossible: no node can be added to a graph that contains it, or its body cannot be
// changed by the recorder.
constexpr bool forbids_markers(std::uint8_t type) {
  return type == kAllocation || type == kFree || type == kConditional;
}

}  // namespace cudadiag::wire::graph_node
