// Remembers the bodies of conditional graph nodes. The driver reports them only once, to the call that adds the node.
#pragma once

#include <cuda.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <span>

#include "record/lock.h"

namespace cudadiag::record {

// All functions may be called on any thread. A new node replaces an older one whose handle has the same hash. The
// bodies of replaced nodes and of copied nodes are unknown.
class ConditionalNodes {
 public:
  // `bodies` points to the driver's own array, which is valid until the node is destroyed.
  void made(CUgraphNode node, const CUgraph* bodies, std::uint32_t count);
  // Call this when the driver has reused the handle for another node.
  void forget(CUgraphNode node);
  // Returns an empty span if the bodies are unknown.
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
