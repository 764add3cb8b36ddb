#include "record/graphs/conditional_nodes.h"

#include "wire/hash.h"

namespace cudadiag::record {

// The caller must hold the lock.
ConditionalNodes::Node& ConditionalNodes::place(CUgraphNode node) {
  return nodes_[wire::mix(wire::kHashSeed, reinterpret_cast<std::uint64_t>(node)) >> 20 & (kPlaces - 1)];
}

void ConditionalNodes::made(CUgraphNode node, const CUgraph* bodies, std::uint32_t count) {
  const LockGuard lock(mutex_);
  place(node) = {node, bodies, count};
  any_.store(true, std::memory_order_relaxed);
}

void ConditionalNodes::forget(CUgraphNode node) {
  if (!any_.load(std::memory_order_relaxed)) return;
  const LockGuard lock(mutex_);
  if (Node& known = place(node); known.handle == node) known = {};
}

std::span<const CUgraph> ConditionalNodes::bodies_of(CUgraphNode node) {
  const LockGuard lock(mutex_);
  const Node& known = place(node);
  return known.handle == node ? std::span(known.bodies, known.count) : std::span<const CUgraph>();
}

}  // namespace cudadiag::record
