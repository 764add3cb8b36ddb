// Uses the markers of a launched graph's nodes to find which nodes may have been running.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "session/process_record.h"

namespace cudadiag::analyse {

// Returns the indices of the unfinished nodes whose dependencies have all finished. At least one of these nodes was
// running. `finished` has one word per node, which differs from 0 if the node has finished. A node without a marker
// counts as finished as soon as its dependencies have finished.
std::vector<std::uint32_t> nodes_under_way(const session::Graph& graph, std::span<const std::uint32_t> finished);

}  // namespace cudadiag::analyse
