// Types of graph nodes, as CUgraphNodeType numbers them, and what they mean for finding the one that failed.
#pragma once

#include <cstdint>

namespace cudadiag::wire::graph_node {

inline constexpr std::uint8_t kKernel = 0, kCopy = 1, kMemset = 2, kChildGraph = 4;
inline constexpr std::uint8_t kEventWait = 6, kEventRecord = 7;
inline constexpr std::uint8_t kAllocation = 10, kFree = 11, kConditional = 13;

// Whether it can raise a device exception; these are the ones that get markers.
constexpr bool is_marked(std::uint8_t type) { return type == kKernel || type == kCopy || type == kMemset; }
// A graph with such a node takes no further ones, or its body cannot be reached.
constexpr bool forbids_markers(std::uint8_t type) {
  return type == kAllocation || type == kFree || type == kConditional;
}

}  // namespace cudadiag::wire::graph_node
