// The progress of a launched graph, from the markers of its nodes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "session/process_record.h"

namespace cudadiag::analyse {

// Returns the indices of unfinished nodes whose dependencies have all finished; one of them was running. `finished` has
// one word per node, not 0 if the node has finished. Nodes without a marker count as finished as soon as they can be.
std::vector<std::uint32_t> nodes_under_way(const session::Graph& graph, std::span<const std::uint32_t> finished);

}  // namespace cudadiag::analyse
