// Bodies of the conditional nodes of graphs: the driver reports them once, to the call that adds the node.
#pragma once

#include <cuda.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <span>

#include "record/lock.h"

namespace cudadiag::record {

// Any thread may call it. A node takes the place of an older one whose handle has the same hash; of that, and of
// copies, the bodies are not known.
class ConditionalNodes {
 public:
  // `bodies`: the driver's own array, which lives as long as the node.
  void made(CUgraphNode node, const CUgraph* bodies, std::uint32_t count);
  // Its handle is another node's from now on.
  void forget(CUgraphNode node);
  // None: not known.
  std::span<const CUgraph> bodies_of(CUgraphNode node);

 private:
  static constexpr std::size_t kPlaces = 4096;
  struct Node {
    CUgraphNode handle;
    const CUgraph* bodies;
    std::uint32_t count;
  };
  Node& place(CUgraphNode node);

  Mutex mutex_;
  std::atomic<bool> any_ = false;
  std::array<Node, kPlaces> nodes_{};
};

}  // namespace cudadiag::record
