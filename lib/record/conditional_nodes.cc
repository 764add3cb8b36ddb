#include "record/conditional_nodes.h"

#include <algorithm>

namespace cudadiag::record {

// Callers hold the lock.
ConditionalNodes::Node* ConditionalNodes::find(CUgraphNode node) {
  const auto end = nodes_.begin() + std::min(made_.load(std::memory_order_relaxed), kMost);
  const auto found = std::find_if(nodes_.begin(), end, [&](const Node& each) { return each.handle == node; });
  return found == end ? nullptr : &*found;
}

void ConditionalNodes::made(CUgraphNode node, const CUgraph* bodies, std::uint32_t count) {
  const LockGuard lock(mutex_);
  const std::uint32_t nodes = made_.load(std::memory_order_relaxed);
  nodes_[nodes % kMost] = {node, bodies, count};
  made_.store(nodes + 1, std::memory_order_relaxed);
}

void ConditionalNodes::forget(CUgraphNode node) {
  if (made_.load(std::memory_order_relaxed) == 0) return;
  const LockGuard lock(mutex_);
  if (Node* known = find(node)) *known = {};
}

std::span<const CUgraph> ConditionalNodes::bodies_of(CUgraphNode node) {
  const LockGuard lock(mutex_);
  const Node* known = find(node);
  return known == nullptr ? std::span<const CUgraph>() : std::span(known->bodies, known->count);
}

}  // namespace cudadiag::record
