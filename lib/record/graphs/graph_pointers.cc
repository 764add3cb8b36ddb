#include "record/graphs/graph_pointers.h"

#include <string.h>
#include <sys/mman.h>

#include <algorithm>

#include "wire/graph_node.h"

namespace cudadiag::record {

namespace graph_node = wire::graph_node;
namespace intern = wire::intern;

namespace {

constexpr std::size_t kMostParameters = 256;

// Calls each(offset, address, in_structure) for every word of a node's parameters that may be a pointer.
template <typename Each>
void read_kernel(const DriverApi& driver, const CUDA_KERNEL_NODE_PARAMS& kernel, Each each) {
  if (kernel.kernelParams == nullptr) return;
  std::size_t offset = 0, size = 0;
  for (std::size_t i = 0; i < kMostParameters; ++i) {
    const bool known = (kernel.func != nullptr && driver.func_get_param_info != nullptr &&
                        driver.func_get_param_info(kernel.func, i, &offset, &size) == CUDA_SUCCESS) ||
                       (kernel.kern != nullptr && driver.kernel_get_param_info != nullptr &&
                        driver.kernel_get_param_info(kernel.kern, i, &offset, &size) == CUDA_SUCCESS);
    if (!known || kernel.kernelParams[i] == nullptr) return;
    std::uint64_t word = 0;
    for (std::size_t at = (8 - offset % 8) % 8; at + sizeof word <= size; at += sizeof word) {
      memcpy(&word, static_cast<const std::byte*>(kernel.kernelParams[i]) + at, sizeof word);
      each(static_cast<std::uint16_t>(offset + at), word, size != sizeof word);
    }
  }
}

template <typename Each>
void read_copy(const CUDA_MEMCPY3D& copy, Each each) {
  const auto on_device = [](CUmemorytype type) {
    return type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED;
  };
  if (on_device(copy.dstMemoryType)) each(0u, std::uint64_t{copy.dstDevice}, false);
  if (on_device(copy.srcMemoryType)) each(8u, std::uint64_t{copy.srcDevice}, false);
}

}  // namespace

std::size_t given_pointers(const DriverApi& driver, const Allocations& allocations, const GraphCall& call,
                           std::span<GraphPointer> to) {
  std::size_t count = 0;
  const auto add = [&](std::uint16_t offset, std::uint64_t address, bool in_structure) {
    Allocations::Living in{};
    if (in_structure || count == to.size() || !allocations.living_at(address, in)) return;
    to[count++] = {0, offset, false, address, in.serial, in.entry};
  };
  const RelaxedCapture relaxed(driver);
  if (call.kernel != nullptr) read_kernel(driver, *call.kernel, add);
  if (call.copy != nullptr) read_copy(*call.copy, add);
  if (call.memset != nullptr) add(0, call.memset->dst, false);
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

void GraphPointers::read(GraphDescription& graph) {
  void* memory =
      mmap(nullptr, sizeof(Memory), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  memory_ = static_cast<Memory*>(memory);
  pointers_ = memory_->pointers;
  living_ = {memory_->living, allocations_.living(memory_->living)};
  if (living_.empty()) return;
  std::sort(living_.begin(), living_.end(), [](const auto& a, const auto& b) { return a.address < b.address; });
  const RelaxedCapture relaxed(driver_);
  for (std::size_t node = 0; node < graph.size(); ++node) {
    // Skips nodes that may never run, because their pointers need not be valid.
    if (graph.may_not_run(node)) continue;
    const std::uint8_t type = wire::load(graph.record(node), intern::kNodeType);
    const CUgraphNode handle = graph.handle(node);
    const auto each = [&](std::uint16_t offset, std::uint64_t address, bool in_structure) {
      add({static_cast<std::uint32_t>(node), offset, in_structure, address, 0, 0});
    };
    CUDA_KERNEL_NODE_PARAMS kernel = {};
    CUDA_MEMCPY3D copy = {};
    CUDA_MEMSET_NODE_PARAMS memset = {};
    if (type == graph_node::kKernel && driver_.graph_kernel_node_get_params != nullptr &&
        driver_.graph_kernel_node_get_params(handle, &kernel) == CUDA_SUCCESS) {
      read_kernel(driver_, kernel, each);
    } else if (type == graph_node::kCopy && driver_.graph_memcpy_node_get_params != nullptr &&
               driver_.graph_memcpy_node_get_params(handle, &copy) == CUDA_SUCCESS) {
      read_copy(copy, each);
    } else if (type == graph_node::kMemset && driver_.graph_memset_node_get_params != nullptr &&
               driver_.graph_memset_node_get_params(handle, &memset) == CUDA_SUCCESS) {
      each(0, memset.dst, false);
    }
  }
}

void GraphPointers::add(const GraphPointer& pointer) {
  // Rejects small numbers quickly, because most words of structures are small numbers.
  if (pointer.address < living_.front().address) return;
  const auto after = std::upper_bound(living_.begin(), living_.end(), pointer.address,
                                      [](std::uint64_t wanted, const auto& each) { return wanted < each.address; });
  const Allocations::Living& in = after[-1];
  if (pointer.address - in.address >= in.bytes) return;
  std::uint32_t& kept = memory_->kept[in.entry];
  if (kept == 0 && count_ == kMostPointers) return;
  if (kept != 0 && (pointer.in_structure || !pointers_[kept - 1].in_structure)) return;
  if (kept == 0) kept = static_cast<std::uint32_t>(++count_);
  pointers_[kept - 1] = pointer;
  pointers_[kept - 1].allocation = in.serial;
  pointers_[kept - 1].entry = in.entry;
}

}  // namespace cudadiag::record
