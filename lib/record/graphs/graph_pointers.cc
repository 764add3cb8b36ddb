#include "record/graphs/graph_pointers.h"

#include <string.h>
#include <sys/mman.h>

#include <algorithm>

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

// Calls each(offset, address, size) for every word of a node's parameters that may be a pointer. `size`: of the parameter
// that contains the word.
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

}  // namespace cudadiag::record
