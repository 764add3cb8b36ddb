#include "record/graphs/graph_host_memory.h"

#include <algorithm>

#include "wire/hash.h"

namespace cudadiag::record {

GraphHostMemory::Exec& GraphHostMemory::place(CUgraphExec exec) {
  return execs_[wire::mix(wire::kHashSeed, reinterpret_cast<std::uint64_t>(exec)) >> 20 & (kExecs - 1)];
}

GraphHostMemory::Exec* GraphHostMemory::find(CUgraphExec exec) {
  Exec& known = place(exec);
  return exec != nullptr && known.handle == exec ? &known : nullptr;
}

void GraphHostMemory::made(CUgraphExec exec, const Traits& traits) {
  const LockGuard lock(mutex_);
  Exec& known = place(exec);
  known.handle = exec;
  known.traits = traits;
  known.count = known.uses_count = 0;
}

void GraphHostMemory::reaches_host(CUgraphExec exec) {
  const LockGuard lock(mutex_);
  if (Exec* known = find(exec)) known->traits.reaches_host = true;
}

void GraphHostMemory::add(CUgraphExec exec, const HostSource& source) {
  const LockGuard lock(mutex_);
  Exec* known = find(exec);
  if (known != nullptr && known->count < kMostSources) known->sources[known->count++] = source;
}

HostSource GraphHostMemory::set(CUgraphExec exec, CUgraphNode node, const SourceRows& rows, std::uint32_t site) {
  const LockGuard lock(mutex_);
  Exec* known = find(exec);
  if (known == nullptr) return {};
  HostSource* end = known->sources.data() + known->count;
  HostSource* source =
      std::find_if(known->sources.data(), end, [&](const HostSource& each) { return each.node == node; });
  if (source == end) return {};
  source->rows = rows;
  source->site = site;
  return *source;
}

void GraphHostMemory::gone(CUgraphExec exec) {
  const LockGuard lock(mutex_);
  if (Exec* known = find(exec)) known->handle = nullptr;
}

void GraphHostMemory::all_gone() {
  const LockGuard lock(mutex_);
  for (Exec& each : execs_) {
    if (each.handle != nullptr) each.handle = nullptr;  // touches no unused page
  }
}

void GraphHostMemory::add_use(CUgraphExec exec, const HostUse& use) {
  const LockGuard lock(mutex_);
  Exec* known = find(exec);
  if (known != nullptr && known->uses_count < kMostUses) known->uses[known->uses_count++] = use;
}

void GraphHostMemory::forget_uses(CUgraphExec exec, CUgraphNode node) {
  const LockGuard lock(mutex_);
  Exec* known = find(exec);
  for (std::uint32_t i = 0; known != nullptr && i < known->uses_count; ++i) {
    if (known->uses[i].node == node) known->uses[i].memory = 0;
  }
}

void GraphHostMemory::launched(CUgraphExec exec, Launched& to) {
  to.count = 0;
  to.traits = {};
  const LockGuard lock(mutex_);
  const Exec* known = find(exec);
  to.known = known != nullptr;
  if (known == nullptr) return;
  to.traits = known->traits;
  for (std::size_t i = 0; i < known->count; ++i) {
    const HostSource& source = known->sources[i];
    if (source.rows.width == 0) continue;
    to.sites[to.count] = source.site, to.nodes[to.count] = source.index;
    to.rows[to.count++] = source.rows;
  }
}

}  // namespace cudadiag::record
