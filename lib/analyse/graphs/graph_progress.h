// The progress of a launched graph, by the markers of its nodes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "session/process_record.h"

namespace cudadiag::analyse {

// Indices of the nodes that had not finished though all that they depend on had: one of them was running. `finished`:
// one word per node, not 0 if the node has finished; nodes that get no marker count as finished as soon as they can be.
std::vector<std::uint32_t> nodes_under_way(const session::Graph& graph, std::span<const std::uint32_t> finished);

}  // namespace cudadiag::analyse
