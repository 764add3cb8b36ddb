#include "record/graphs/graphs.h"

#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "record/rerun/node_saver.h"
#include "wire/hash.h"
#include "wire/intern.h"
#include "wire/operation.h"

namespace cudadiag::record {

namespace graph_node = wire::graph_node;
namespace intern = wire::intern;

namespace {

constexpr std::size_t kMostParameters = 256;
constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::size_t kSmallStructure = 64;  // bytes; larger structures may contain lists with unused entries

bool parameter_at(const DriverApi& driver, const CUDA_KERNEL_NODE_PARAMS& kernel, std::size_t parameter,
                  std::size_t& offset, std::size_t& size) {
  return (kernel.func != nullptr && driver.func_get_param_info != nullptr &&
          driver.func_get_param_info(kernel.func, parameter, &offset, &size) == CUDA_SUCCESS) ||
         (kernel.kern != nullptr && driver.kernel_get_param_info != nullptr &&
          driver.kernel_get_param_info(kernel.kern, parameter, &offset, &size) == CUDA_SUCCESS);
}

// Calls each(offset, address, size) for every word of a node's parameters that may be a pointer. `size`: of the
// parameter that contains the word.
template <typename Each>
void read_kernel(const DriverApi& driver, const CUDA_KERNEL_NODE_PARAMS& kernel, Each each) {
  if (kernel.kernelParams == nullptr) return;
  std::size_t offset = 0, size = 0;
  for (std::size_t i = 0; i < kMostParameters; ++i) {
    if (!parameter_at(driver, kernel, i, offset, size) || kernel.kernelParams[i] == nullptr) return;
    std::uint64_t word = 0;
    for (std::size_t at = (8 - offset % 8) % 8; at + sizeof word <= size; at += sizeof word) {
      memcpy(&word, static_cast<const std::byte*>(kernel.kernelParams[i]) + at, sizeof word);
      each(static_cast<std::uint16_t>(offset + at), word, size);
    }
  }
}

// Stores the parameters of a kernel node, so that a report can show the pointers that the node has.
void keep_parameters(const DriverApi& driver, const CUDA_KERNEL_NODE_PARAMS& kernel, std::uint64_t serial,
                     Interner& interner) {
  constexpr std::size_t kMostKept = 32, kMostBytes = 512;
  struct {
    std::uint64_t serial;
    std::uint32_t thread, flags;
    struct {
      std::uint32_t offset, size;
    } parameters[kMostKept];
  } head{serial, intern::kOfNode, 0, {}};
  alignas(kWord) std::byte values[kMostBytes] = {};
  std::size_t count = 0, bytes = 0, offset = 0, size = 0;
  while (kernel.kernelParams != nullptr && parameter_at(driver, kernel, count, offset, size)) {
    if (count == kMostKept || bytes + size > kMostBytes || kernel.kernelParams[count] == nullptr) {
      head.flags = intern::kCut;
      break;
    }
    memcpy(values + bytes, kernel.kernelParams[count], size);
    head.parameters[count++] = {static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(size)};
    bytes = std::min((bytes + size + kWord - 1) / kWord * kWord, kMostBytes);
  }
  if (count == 0) return;
  interner.arguments(static_cast<std::uint16_t>(count), {reinterpret_cast<const std::byte*>(&head), 16 + kWord * count},
                     {values, bytes});
}

template <typename Each>
void read_copy(const CUDA_MEMCPY3D& copy, Each each) {
  const auto on_device = [](CUmemorytype type) {
    return type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED;
  };
  if (on_device(copy.dstMemoryType)) each(0u, std::uint64_t{copy.dstDevice}, kWord);
  if (on_device(copy.srcMemoryType)) each(8u, std::uint64_t{copy.srcDevice}, kWord);
}

}  // namespace

std::atomic<NodeAddresses::List*> NodeAddresses::list_ = nullptr;

void* NodeAddresses::list() {
  if (List* list = list_.load()) return list;
  void* memory =
      mmap(nullptr, sizeof(List), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* list = static_cast<List*>(memory);
  list->limit = List::kMost;
  list_.store(list);
  return list;
}

void NodeAddresses::add(std::uint32_t graph, std::uint32_t node, std::uint16_t offset, std::uint64_t address,
                        bool may_be_leftover) {
  static Mutex mutex;
  List* list = list_.load();
  const LockGuard lock(mutex);
  if (list == nullptr || list->count == List::kMost) return;
  list->entries[list->count++] = {address, graph, node, offset, may_be_leftover};
}

std::size_t given_pointers(const DriverApi& driver, const Allocations& allocations, const GraphCall& call,
                           std::span<GraphPointer> to) {
  std::size_t count = 0;
  const auto add = [&](std::uint16_t offset, std::uint64_t address, std::size_t size) {
    Allocations::Living in{};
    if (size != kWord || count == to.size() || !allocations.living_at(address, in)) return;
    to[count++] = {0, offset, false, address, in.serial, in.entry};
  };
  const RelaxedCapture relaxed(driver);
  if (call.kernel != nullptr) read_kernel(driver, *call.kernel, add);
  if (call.copy != nullptr) read_copy(*call.copy, add);
  if (call.memset != nullptr) add(0, call.memset->dst, kWord);
  return count;
}

// Has room for the largest graph. The operating system provides pages only when they are touched.
struct GraphPointers::Memory {
  Allocations::Living living[wire::area::kAllocations];
  GraphPointer pointers[kMostPointers];
  // indexed by allocation entry: 1 + index of the kept pointer; 0 if none
  std::uint32_t kept[wire::area::kAllocations];
};

GraphPointers::~GraphPointers() {
  if (memory_ != nullptr) munmap(memory_, sizeof(Memory));
}

void GraphPointers::read(GraphDescription& graph, std::uint32_t id, Interner& interner) {
  constexpr std::size_t kMostNodes = 64;  // whose parameters are stored; a graph may have thousands
  void* memory =
      mmap(nullptr, sizeof(Memory), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  memory_ = static_cast<Memory*>(memory);
  pointers_ = memory_->pointers;
  living_ = {memory_->living, allocations_.living(memory_->living)};
  if (living_.empty()) return;
  std::sort(living_.begin(), living_.end(), [](const auto& a, const auto& b) { return a.address < b.address; });
  const RelaxedCapture relaxed(driver_);
  std::size_t stored = 0;
  for (std::size_t node = 0; node < graph.size(); ++node) {
    const std::uint8_t type = wire::load(graph.record(node), intern::kNodeType);
    const CUgraphNode handle = graph.handle(node);
    if (type == graph_node::kKernel && graph.has_device_updatable_nodes() && graph.is_device_updatable(node)) continue;
    const auto each = [&](std::uint16_t offset, std::uint64_t address, std::size_t size) {
      const auto at = static_cast<std::uint32_t>(node);
      const bool live = add({at, offset, size != kWord, address, 0, 0});
      if (live) NodeAddresses::add(id, at, offset, address, size > kSmallStructure);
    };
    CUDA_KERNEL_NODE_PARAMS kernel = {};
    CUDA_MEMCPY3D copy = {};
    CUDA_MEMSET_NODE_PARAMS memset = {};
    const bool is_kernel = type == graph_node::kKernel && driver_.graph_kernel_node_get_params != nullptr &&
                           driver_.graph_kernel_node_get_params(handle, &kernel) == CUDA_SUCCESS;
    if (is_kernel && id != 0 && stored++ < kMostNodes)
      keep_parameters(driver_, kernel, std::uint64_t{id} << 32 | node, interner);
    // The pointers of nodes that may never run need not be valid.
    if (graph.may_not_run(node)) continue;
    if (is_kernel) {
      read_kernel(driver_, kernel, each);
    } else if (type == graph_node::kCopy && driver_.graph_memcpy_node_get_params != nullptr &&
               driver_.graph_memcpy_node_get_params(handle, &copy) == CUDA_SUCCESS) {
      read_copy(copy, each);
    } else if (type == graph_node::kMemset && driver_.graph_memset_node_get_params != nullptr &&
               driver_.graph_memset_node_get_params(handle, &memset) == CUDA_SUCCESS) {
      each(0, memset.dst, kWord);
    }
  }
}

bool GraphPointers::add(const GraphPointer& pointer) {
  // Rejects small numbers quickly, because most words of structures are small numbers.
  if (pointer.address < living_.front().address) return false;
  const auto after = std::upper_bound(living_.begin(), living_.end(), pointer.address,
                                      [](std::uint64_t wanted, const auto& each) { return wanted < each.address; });
  const Allocations::Living& in = after[-1];
  if (pointer.address - in.address >= in.bytes) return false;
  std::uint32_t& kept = memory_->kept[in.entry];
  if (kept == 0 && count_ == kMostPointers) return true;
  if (kept != 0 && (pointer.in_structure || !pointers_[kept - 1].in_structure)) return true;
  if (kept == 0) kept = static_cast<std::uint32_t>(++count_);
  pointers_[kept - 1] = pointer;
  pointers_[kept - 1].allocation = in.serial;
  pointers_[kept - 1].entry = in.entry;
  return true;
}

using wire::kHashSeed;
using wire::mix;

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
  if (description.has_device_updatable_nodes()) made.flags = operation::kGraphAltered | operation::kGraphUntold;
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
  exec.replay.flags = made.flags;
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
    known->replay.flags |= operation::kGraphRepointed;
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
