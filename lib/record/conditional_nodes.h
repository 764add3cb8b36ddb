// Bodies of the conditional nodes of graphs: the driver tells them once, to the call that adds the node.
#pragma once

#include <cuda.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <span>

#include "record/lock.h"

namespace cudadiag::record {

// Holds the latest kMost nodes; of an older one, or a copy of one, the bodies are not known. Any thread may call it.
class ConditionalNodes {
 public:
  // `bodies`: the driver's own array, which lives as long as the node.
  void made(CUgraphNode node, const CUgraph* bodies, std::uint32_t count);
  // Its handle is another node's from now on.
  void forget(CUgraphNode node);
  // None: not known.
  std::span<const CUgraph> bodies_of(CUgraphNode node);

 private:
  static constexpr std::uint32_t kMost = 1024;
  struct Node {
    CUgraphNode handle;
    const CUgraph* bodies;
    std::uint32_t count;
  };
  Node* find(CUgraphNode node);

  Mutex mutex_;
  std::atomic<std::uint32_t> made_ = 0;
  std::array<Node, kMost> nodes_{};
};

}  // namespace cudadiag::record
