#include "record/graphs/graphs.h"

#include <utility>

#include "record/rerun/node_saver.h"
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
  conditionals_.forget(node);
  const LockGuard lock(mutex_);
  nodes_.place(key_of(node), ++stamp_).site = site;
}

void Graphs::node_cloned(CUgraphNode node, CUgraphNode original) {
  conditionals_.forget(node);
  const LockGuard lock(mutex_);
  const Node* from = nodes_.find(key_of(original));
  if (from == nullptr || from->site == 0) return;
  const std::uint32_t site = from->site;
  nodes_.place(key_of(node), ++stamp_).site = site;
}

void Graphs::conditional_made(const GraphCall& call) {
  const CUgraph* bodies = call.conditional->phGraph_out;
  if (call.added != nullptr && bodies != nullptr) conditionals_.made(*call.added, bodies, call.conditional->size);
}

std::uint32_t Graphs::site_of(CUgraphNode node) {
  const LockGuard lock(mutex_);
  const Node* known = nodes_.find(key_of(node));
  return known == nullptr ? 0 : known->site;
}

// ---- executable graphs

Graphs::Made Graphs::describe(const GraphCall& call, std::uint32_t site) {
  GraphDescription description(*driver_);
  if (call.graph == nullptr || !description.read(call.graph, *interner_, &conditionals_)) {
    area_->count(wire::area::kDroppedGraphs);
    return {};
  }
  if (followed_ != nullptr) followed_->described(call, description);
  for (std::size_t node = 0; node < description.size(); ++node) {
    wire::store(description.record(node), intern::kNodeSite, site_of(description.handle(node)));
  }
  const std::uint32_t id = interner_->graph(site, description.records(), description.edges());
  if (id == 0) area_->count(wire::area::kDroppedGraphs);
  Made made;
  made.graph = id;
  made.ends = allocations_->ends();
  GraphPointers pointers(*driver_, *allocations_);
  pointers.read(description, id, *interner_);
  keep(description, pointers.pointers(), made);
  return made;
}

void Graphs::keep(GraphDescription& description, std::span<const GraphPointer> pointers, Made& made) {
  const LockGuard lock(mutex_);
  made.first_node = exec_nodes_used_;
  made.nodes = static_cast<std::uint32_t>(description.size());
  for (std::size_t node = 0; node < description.size(); ++node) {
    const std::uint32_t parent = wire::load(description.record(node), intern::kNodeParent);
    exec_nodes_[exec_nodes_used_++ % kExecNodes] = {description.handle(node), 0, parent & 0x7fffffff,
                                                    description.may_not_run(node)};
  }
  made.first_pointer = pointers_used_;
  made.pointers = static_cast<std::uint32_t>(pointers.size()) + kSparePointers;
  for (const GraphPointer& pointer : pointers) pointers_[pointers_used_++ % kPointers] = pointer;
  for (std::uint32_t i = 0; i < kSparePointers; ++i) pointers_[pointers_used_++ % kPointers] = {};
}

// The caller must hold the lock.
void Graphs::take_stale(Exec& exec, StalePointers& stale) {
  const std::uint64_t ends = allocations_->ends();
  if (exec.ends == ends || pointers_used_ - exec.first_pointer > kPointers) return;
  for (std::uint64_t i = exec.first_pointer; i < exec.first_pointer + exec.pointers; ++i) {
    GraphPointer& pointer = pointers_[i % kPointers];
    if (pointer.allocation == 0 || allocations_->lives(pointer.entry, pointer.allocation)) continue;
    // Pointers over the limit are dropped. Reporting them at a later launch would suggest that their memory was freed
    // just before that launch.
    const std::uint64_t freed = std::exchange(pointer.allocation, 0);
    if (stale.count == StalePointers::kMost) continue;
    const std::uint32_t flags = pointer.in_structure ? std::uint32_t{intern::kInStructure} : 0;
    stale.pointers[stale.count++] = {pointer.node, pointer.offset, flags, pointer.address, freed};
  }
  exec.ends = ends;
}

void Graphs::take(Exec& exec, const Made& made) {
  exec.described = exec.replay.graph = made.graph;
  exec.first_node = made.first_node;
  exec.nodes = made.nodes;
  exec.last_set = 0;
  exec.changed = false;
  exec.first_pointer = made.first_pointer;
  exec.pointers = made.pointers;
  exec.ends = made.ends;
}

void Graphs::instantiated(const GraphCall& call, std::uint32_t site, GraphWords words) {
  if (call.made == nullptr || *call.made == nullptr) return;
  const Made made = describe(call, site);
  const LockGuard lock(mutex_);
  Exec& exec = execs_.place(key_of(*call.made), ++stamp_);
  exec.site = site;
  exec.replay = {0, 0, 0, words};
  take(exec, made);
}

void Graphs::updated(const GraphCall& call) {
  std::uint32_t site = 0;
  {
    const LockGuard lock(mutex_);
    if (const Exec* known = execs_.find(key_of(call.exec))) site = known->site;
  }
  const Made made = describe(call, site);
  const LockGuard lock(mutex_);
  if (Exec* known = execs_.find(key_of(call.exec))) {
    take(*known, made);
    // Calls still refer to the nodes by the handles of the graph from which the executable graph was instantiated. We
    // cannot tell which nodes of the new graph they mean.
    known->nodes = 0;
    known->replay.flags = operation::kGraphRepointed;
  }
}

// ---- nodes whose parameters change; callers hold the lock

Graphs::ExecNode& Graphs::exec_node(const Exec& exec, std::uint32_t node) {
  return exec_nodes_[(exec.first_node + node) % kExecNodes];
}

// Searches from where the previous search ended, because programs usually set nodes in creation order or in reverse.
std::uint32_t Graphs::index_of(Exec& exec, CUgraphNode handle) {
  if (exec_nodes_used_ - exec.first_node > kExecNodes) return kNoNode;
  for (std::uint32_t away = 0; away < exec.nodes; ++away) {
    for (const std::uint32_t node : {exec.last_set + away, exec.last_set + exec.nodes - away}) {
      if (exec_node(exec, node % exec.nodes).handle == handle) return exec.last_set = node % exec.nodes;
    }
  }
  return kNoNode;
}

bool Graphs::lies_in(const Exec& exec, std::uint32_t node, std::uint32_t holder) {
  std::uint32_t parent = exec_node(exec, node).parent;
  while (parent != 0 && parent - 1 != holder) parent = exec_node(exec, parent - 1).parent;
  return parent != 0;
}

void Graphs::forget_pointers(Exec& exec, std::uint32_t node) {
  if (node == kNoNode) exec.pointers = 0;
  if (pointers_used_ - exec.first_pointer > kPointers) return;
  for (std::uint64_t i = exec.first_pointer; i < exec.first_pointer + exec.pointers; ++i) {
    GraphPointer& pointer = pointers_[i % kPointers];
    if (pointer.allocation == 0) continue;
    if (pointer.node == node || lies_in(exec, pointer.node, node)) pointer.allocation = 0;
  }
}

// Ignores pointers for which no spare entry is left.
void Graphs::add_pointers(Exec& exec, std::uint32_t node, std::span<const GraphPointer> given) {
  if (pointers_used_ - exec.first_pointer > kPointers) return;
  std::uint64_t at = exec.first_pointer;
  for (const GraphPointer& pointer : given) {
    while (at < exec.first_pointer + exec.pointers && pointers_[at % kPointers].allocation != 0) ++at;
    if (at == exec.first_pointer + exec.pointers) return;
    pointers_[at % kPointers] = pointer;
    pointers_[at % kPointers].node = node;
  }
}

// Returns true if the call makes the stored description of the node incorrect. Takes no lock, because it calls the
// driver.
bool Graphs::alters(const GraphCall& call, CUgraphNodeType& type) {
  const RelaxedCapture relaxed(*driver_);
  if (driver_->graph_node_get_type != nullptr) driver_->graph_node_get_type(call.node, &type);
  // For all other node types, the description contains only the node's line.
  if (type != CU_GRAPH_NODE_TYPE_KERNEL && type != CU_GRAPH_NODE_TYPE_GRAPH) return false;
  CUDA_KERNEL_NODE_PARAMS now = {};
  if (call.kernel == nullptr || driver_->graph_kernel_node_get_params == nullptr ||
      driver_->graph_kernel_node_get_params(call.node, &now) != CUDA_SUCCESS) {
    return true;
  }
  const CUDA_KERNEL_NODE_PARAMS& to = *call.kernel;
  return now.func != to.func || now.kern != to.kern || now.gridDimX != to.gridDimX || now.gridDimY != to.gridDimY ||
         now.gridDimZ != to.gridDimZ || now.blockDimX != to.blockDimX || now.blockDimY != to.blockDimY ||
         now.blockDimZ != to.blockDimZ;
}

void Graphs::node_set(const GraphCall& call, std::uint32_t site) {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_KERNEL;
  const bool altered = alters(call, type);
  std::array<GraphPointer, kMostGiven> given;
  const std::size_t pointers = given_pointers(*driver_, *allocations_, call, given);
  const LockGuard lock(mutex_);
  Exec* exec = execs_.find(key_of(call.exec));
  if (exec == nullptr) return;
  exec->replay.flags |= operation::kGraphRepointed | (altered ? operation::kGraphAltered : 0);
  const std::uint32_t first = index_of(*exec, call.node);
  forget_pointers(*exec, first);
  const bool runs = first != kNoNode && !exec_node(*exec, first).may_not_run;
  if (runs) add_pointers(*exec, first, std::span(given).first(pointers));
  if (call.what != GraphCall::What::set_node) return;
  if (first == kNoNode || site == 0) exec->replay.flags |= operation::kGraphUntold;
  // Setting a child graph node replaces the whole child graph, whose nodes come after the child graph node.
  const std::uint32_t end = type == CU_GRAPH_NODE_TYPE_GRAPH ? exec->nodes : first + 1;
  for (std::uint32_t node = first; first != kNoNode && node < end; ++node) {
    ExecNode& set = exec_node(*exec, node);
    if (set.site == site || (node != first && !lies_in(*exec, node, first))) continue;
    set.site = site;
    exec->changed = true;
  }
}

// Interns the list of changes, so that a list that a program uses repeatedly is stored only once.
void Graphs::record_changes(Exec& exec) {
  exec.changed = false;
  exec.replay.graph = exec.described;
  if (exec.described == 0) return;
  std::size_t count = 0;
  bool all = exec_nodes_used_ - exec.first_node <= kExecNodes;
  for (std::uint32_t node = 0; all && node < exec.nodes; ++node) {
    const std::uint32_t site = exec_node(exec, node).site;
    if (site == 0) continue;
    all = count < kMostChanges;
    if (all) changes_[count++] = {node, site};
  }
  const std::uint32_t graph =
      all ? interner_->changed_graph(exec.site, exec.described, std::span(changes_).first(count)) : 0;
  if (graph != 0) {
    exec.replay.graph = graph;
  } else {
    exec.replay.flags |= operation::kGraphUntold;
  }
}

// ---- calls on executable graphs

void Graphs::destroyed(CUgraphExec exec) {
  const LockGuard lock(mutex_);
  if (Exec* known = execs_.find(key_of(exec))) *known = {};
}

GraphWords Graphs::words_of(CUgraphExec exec) {
  const LockGuard lock(mutex_);
  const Exec* known = execs_.find(key_of(exec));
  return known == nullptr ? GraphWords{} : known->replay.words;
}

GraphReplay Graphs::launched(CUgraphExec exec, StalePointers& stale) {
  const LockGuard lock(mutex_);
  Exec* known = execs_.find(key_of(exec));
  if (known == nullptr) return {};
  ++known->replay.ordinal;
  if (known->changed) record_changes(*known);
  take_stale(*known, stale);
  return known->replay;
}

}  // namespace cudadiag::record
