#include "record/graphs/graph_markers.h"

#include <string.h>
#include <sys/mman.h>

#include "record/graphs/graph_description.h"
#include "wire/operation.h"

namespace cudadiag::record {

namespace area = wire::area;
namespace intern = wire::intern;

namespace {

constexpr std::size_t kListBytes = GraphDescription::kMostNodes * sizeof(CUgraphNode);

void* pages(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

void GraphMarkers::attach(AreaMap& map, Interner& interner, const DriverApi& driver) {
  area_ = &map;
  interner_ = &interner;
  driver_ = &driver;
  words_ = map.region(area::Region::graph_words);
}

void GraphMarkers::note_once(const char* code, const char* text) {
  if (!noted_.exchange(true)) interner_->note(code, text);
}

// Registers the marker words again if necessary. A registration is valid in all contexts, but ends when the context in
// which it was made is destroyed.
CUdeviceptr GraphMarkers::device_words() {
  CUdeviceptr device = 0;
  if (driver_->mem_host_get_device_pointer(&device, words_, 0) == CUDA_SUCCESS) return device;
  if (driver_->mem_host_register(words_, area_->region_size(area::Region::graph_words),
                                 CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP) == CUDA_SUCCESS &&
      driver_->mem_host_get_device_pointer(&device, words_, 0) == CUDA_SUCCESS) {
    return device;
  }
  return 0;
}

// When all marker words have been taken, reuses the first ones. This is safe, because each word is needed only during
// one launch, and no other graph runs during that launch.
GraphWords GraphMarkers::take_words(std::size_t count) {
  if (count > area::kGraphWords) return {};
  const auto wanted = static_cast<std::uint32_t>(count);
  std::uint32_t used = used_.load(std::memory_order_relaxed), first = 0;
  do {
    first = wanted > area::kGraphWords - used ? 0 : used;
  } while (!used_.compare_exchange_weak(used, first + wanted));
  return {first, wanted};
}

// Holds the marker nodes of one graph while they are being added.
class GraphMarkers::Adding {
 public:
  Adding(const DriverApi& driver, CUdeviceptr words) : driver_(driver), words_(words) {}

  bool begin() {
    list_ = static_cast<CUgraphNode*>(pages(kListBytes));
    next_ = static_cast<CUgraphNode*>(pages(kListBytes));
    edge_data_ = static_cast<CUgraphEdgeData*>(pages(GraphDescription::kMostNodes * sizeof(CUgraphEdgeData)));
    return list_ != nullptr && next_ != nullptr && edge_data_ != nullptr &&
           driver_.ctx_get_current(&context_) == CUDA_SUCCESS;
  }

  ~Adding() {
    if (next_ != nullptr) munmap(next_, kListBytes);
    if (edge_data_ != nullptr) munmap(edge_data_, GraphDescription::kMostNodes * sizeof(CUgraphEdgeData));
  }

  bool add(CUgraph graph, CUgraphNode node, std::uint32_t word) {
    std::size_t dependents = 0;
    if (driver_.graph_node_get_dependents(node, nullptr, nullptr, &dependents) != CUDA_SUCCESS ||
        dependents > GraphDescription::kMostNodes ||
        (dependents > 0 && driver_.graph_node_get_dependents(node, next_, edge_data_, &dependents) != CUDA_SUCCESS)) {
      return false;
    }
    CUstreamBatchMemOpParams write = {};
    write.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    write.writeValue.address = words_ + word * area::kGraphWordSize;
    write.writeValue.value = 1;
    CUDA_BATCH_MEM_OP_NODE_PARAMS parameters = {};
    parameters.ctx = context_;
    parameters.count = 1;
    parameters.paramArray = &write;
    CUgraphNode marker = nullptr;
    if (driver_.graph_add_batch_mem_op_node(&marker, graph, &node, 1, &parameters) != CUDA_SUCCESS) return false;
    list_[count_++] = marker;
    for (std::size_t i = 0; i < dependents; ++i) {
      if (driver_.graph_add_dependencies(graph, &marker, &next_[i], nullptr, 1) != CUDA_SUCCESS) return false;
    }
    return true;
  }

  AddedMarkers result(GraphWords words) const { return {list_, count_, words}; }

 private:
  const DriverApi& driver_;
  CUdeviceptr words_;
  CUcontext context_ = nullptr;
  CUgraphNode *list_ = nullptr, *next_ = nullptr;
  CUgraphEdgeData* edge_data_ = nullptr;
  std::size_t count_ = 0;
};

AddedMarkers GraphMarkers::add(CUgraph graph, bool for_device, GraphWords words) {
  constexpr const char* kLeftOut = "graph-not-marked";
  if (!driver_->can_mark_graphs() || graph == nullptr) return {};
  GraphDescription description(*driver_);
  if (!description.read(graph, *interner_)) return {};
  const RelaxedCapture relaxed(*driver_);
  bool can_be_marked = !for_device && !description.has_programmatic_edges();
  for (std::size_t i = 0; i < description.size(); ++i) {
    can_be_marked &= !wire::graph_node::forbids_markers(wire::load(description.record(i), intern::kNodeType));
  }
  if (!can_be_marked) {
    note_once(kLeftOut,
              "the nodes of a graph were not watched: the graph allocates memory, has conditional nodes, is launched "
              "from the device or lets kernels overlap");
    return {};
  }
  // If the number of nodes differs, the update fails anyway, so no markers are needed.
  if (words.count != 0 && words.count != description.size()) return {};
  if (words.count == 0) words = take_words(description.size());
  const CUdeviceptr device = words.count == 0 ? 0 : device_words();
  if (device == 0) {
    if (description.size() > 0)
      note_once(kLeftOut, "some graphs are too large, so cudadiag did not watch which of their nodes finished");
    return {};
  }
  Adding adding(*driver_, device);
  bool added = adding.begin();
  for (std::size_t i = 0; added && i < description.size(); ++i) {
    if (!wire::graph_node::is_marked(wire::load(description.record(i), intern::kNodeType))) continue;
    added = adding.add(description.graph_of(i), description.handle(i), words.first + static_cast<std::uint32_t>(i));
  }
  AddedMarkers result = adding.result(words);
  if (added) return result;
  remove(result, true);
  note_once(kLeftOut, "the driver rejected the markers that show which nodes of a graph have finished");
  return {};
}

void GraphMarkers::remove(AddedMarkers& added, bool call_worked) {
  if (added.nodes == nullptr) return;
  const RelaxedCapture relaxed(*driver_);
  while (added.count > 0) driver_->graph_destroy_node(added.nodes[--added.count]);
  munmap(added.nodes, kListBytes);
  added.nodes = nullptr;
  if (!call_worked)
    note_once("graph-refused", "a graph could not be instantiated or updated while its nodes had markers");
}

void GraphMarkers::clear(GraphWords words) {
  memset(words_ + words.first * area::kGraphWordSize, 0, words.count * area::kGraphWordSize);
}

}  // namespace cudadiag::record
