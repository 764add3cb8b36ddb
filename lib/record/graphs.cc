#include "record/graphs.h"

#include "record/graph_description.h"
#include "wire/hash.h"

namespace cudadiag::record {

using wire::kHashSeed;
using wire::mix;

namespace intern = wire::intern;
namespace operation = wire::operation;

namespace {

std::uint64_t key_of(const void* handle) { return reinterpret_cast<std::uint64_t>(handle); }

}  // namespace

void Graphs::attach(AreaMap& area, Interner& interner, const DriverApi& driver, const Allocations& allocations) {
  allocations_ = &allocations;
  area_ = &area;
  interner_ = &interner;
  driver_ = &driver;
}

template <typename Entry, std::size_t Rows>
Entry* Graphs::Table<Entry, Rows>::find(std::uint64_t handle) {
  for (Entry& entry : rows[mix(kHashSeed, handle) >> 20 & (Rows - 1)]) {
    if (entry.handle == handle) return &entry;
  }
  return nullptr;
}

template <typename Entry, std::size_t Rows>
Entry& Graphs::Table<Entry, Rows>::place(std::uint64_t handle, std::uint32_t stamp) {
  Entry* chosen = nullptr;
  for (Entry& entry : rows[mix(kHashSeed, handle) >> 20 & (Rows - 1)]) {
    if (entry.handle == handle) {
      chosen = &entry;
      break;
    }
    const bool better = chosen == nullptr || (entry.handle == 0 && chosen->handle != 0) ||
                        (entry.handle != 0 && chosen->handle != 0 && stamp - entry.stamp > stamp - chosen->stamp);
    if (better) chosen = &entry;
  }
  *chosen = {};
  chosen->handle = handle;
  chosen->stamp = stamp;
  return *chosen;
}

// ---- nodes

void Graphs::node_created(CUgraphNode node, std::uint32_t site) {
  const LockGuard lock(mutex_);
  nodes_.place(key_of(node), ++stamp_).site = site;
}

void Graphs::node_cloned(CUgraphNode node, CUgraphNode original) {
  const LockGuard lock(mutex_);
  const Node* from = nodes_.find(key_of(original));
  if (from == nullptr || from->site == 0) return;
  const std::uint32_t site = from->site;
  nodes_.place(key_of(node), ++stamp_).site = site;
}

std::uint32_t Graphs::site_of(CUgraphNode node) {
  const LockGuard lock(mutex_);
  const Node* known = nodes_.find(key_of(node));
  return known == nullptr ? 0 : known->site;
}

// ---- executable graphs

Graphs::Made Graphs::describe(CUgraph graph, std::uint32_t site) {
  GraphDescription description(*driver_);
  if (graph == nullptr || !description.read(graph, *interner_)) {
    area_->count(wire::area::kDroppedGraphs);
    return {};
  }
  for (std::size_t node = 0; node < description.size(); ++node) {
    wire::store(description.record(node), intern::kNodeSite, site_of(description.handle(node)));
  }
  const std::uint32_t id = interner_->graph(site, description.records(), description.edges());
  if (id == 0) area_->count(wire::area::kDroppedGraphs);
  Made made;
  made.graph = id;
  made.ends = allocations_->ends();
  GraphPointers pointers(*driver_, *allocations_);
  pointers.read(description);
  keep(pointers.pointers(), made);
  return made;
}

void Graphs::keep(std::span<const GraphPointer> pointers, Made& made) {
  const LockGuard lock(mutex_);
  made.first_pointer = pointers_used_;
  made.pointers = static_cast<std::uint32_t>(pointers.size());
  for (const GraphPointer& pointer : pointers) pointers_[pointers_used_++ % kPointers] = pointer;
}

// Callers hold the lock.
StalePointer Graphs::stale_pointer(Exec& exec) {
  const std::uint64_t ends = allocations_->ends();
  if (exec.told || exec.ends == ends || pointers_used_ - exec.first_pointer > kPointers) return {};
  for (std::uint64_t i = exec.first_pointer; i < exec.first_pointer + exec.pointers; ++i) {
    const GraphPointer& pointer = pointers_[i % kPointers];
    if (pointer.allocation == 0 || allocations_->lives(pointer.entry, pointer.allocation)) continue;
    exec.told = true;
    return {pointer.node, pointer.offset, pointer.address, pointer.allocation};
  }
  exec.ends = ends;
  return {};
}

void Graphs::instantiated(const GraphCall& call, std::uint32_t site, GraphWords words) {
  if (call.made == nullptr || *call.made == nullptr) return;
  const Made made = describe(call.graph, site);
  const LockGuard lock(mutex_);
  Exec& exec = execs_.place(key_of(*call.made), ++stamp_);
  exec.site = site;
  exec.replay = {made.graph, 0, 0, words};
  exec.first_pointer = made.first_pointer;
  exec.pointers = made.pointers;
  exec.ends = made.ends;
}

void Graphs::updated(const GraphCall& call) {
  std::uint32_t site = 0;
  {
    const LockGuard lock(mutex_);
    if (const Exec* known = execs_.find(key_of(call.exec))) site = known->site;
  }
  const Made made = describe(call.graph, site);
  const LockGuard lock(mutex_);
  if (Exec* known = execs_.find(key_of(call.exec))) {
    known->replay.graph = made.graph;
    known->replay.flags = 0;
    known->first_pointer = made.first_pointer;
    known->pointers = made.pointers;
    known->ends = made.ends;
    known->told = false;
  }
}

// What the node points to from now on is not read. A node of a child graph may have been meant.
void Graphs::forget_pointers(CUgraphExec exec, CUgraphNode node) {
  const LockGuard lock(mutex_);
  Exec* known = execs_.find(key_of(exec));
  if (known == nullptr) return;
  known->replay.flags |= operation::kGraphRepointed;
  if (pointers_used_ - known->first_pointer > kPointers) return;
  for (std::uint64_t i = known->first_pointer; i < known->first_pointer + known->pointers; ++i) {
    GraphPointer& pointer = pointers_[i % kPointers];
    if (pointer.handle == node) pointer.allocation = 0;
  }
}

void Graphs::node_set(const GraphCall& call) {
  forget_pointers(call.exec, call.node);
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_KERNEL;
  CUDA_KERNEL_NODE_PARAMS now = {};
  {
    const RelaxedCapture relaxed(*driver_);
    if (driver_->graph_node_get_type != nullptr) driver_->graph_node_get_type(call.node, &type);
    // Only kernels and child graphs are described by more than their line.
    if (type != CU_GRAPH_NODE_TYPE_KERNEL && type != CU_GRAPH_NODE_TYPE_GRAPH) return;
    if (call.kernel != nullptr && driver_->graph_kernel_node_get_params != nullptr &&
        driver_->graph_kernel_node_get_params(call.node, &now) == CUDA_SUCCESS) {
      const CUDA_KERNEL_NODE_PARAMS& to = *call.kernel;
      const bool same = now.func == to.func && now.kern == to.kern && now.gridDimX == to.gridDimX &&
                        now.gridDimY == to.gridDimY && now.gridDimZ == to.gridDimZ && now.blockDimX == to.blockDimX &&
                        now.blockDimY == to.blockDimY && now.blockDimZ == to.blockDimZ;
      if (same) return;
    }
  }
  const LockGuard lock(mutex_);
  if (Exec* known = execs_.find(key_of(call.exec))) known->replay.flags |= operation::kGraphAltered;
}

void Graphs::destroyed(CUgraphExec exec) {
  const LockGuard lock(mutex_);
  if (Exec* known = execs_.find(key_of(exec))) *known = {};
}

GraphWords Graphs::words_of(CUgraphExec exec) {
  const LockGuard lock(mutex_);
  const Exec* known = execs_.find(key_of(exec));
  return known == nullptr ? GraphWords{} : known->replay.words;
}

GraphReplay Graphs::launched(CUgraphExec exec) {
  const LockGuard lock(mutex_);
  Exec* known = execs_.find(key_of(exec));
  if (known == nullptr) return {};
  ++known->replay.ordinal;
  GraphReplay replay = known->replay;
  replay.stale = stale_pointer(*known);
  return replay;
}

}  // namespace cudadiag::record
