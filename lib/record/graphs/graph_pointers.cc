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

// Passes the possible pointers among a node's parameters to each(offset, address).
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
    if (size != sizeof(std::uint64_t)) continue;
    std::uint64_t word = 0;
    memcpy(&word, kernel.kernelParams[i], sizeof word);
    each(static_cast<std::uint32_t>(offset), word);
  }
}

template <typename Each>
void read_copy(const CUDA_MEMCPY3D& copy, Each each) {
  const auto on_device = [](CUmemorytype type) {
    return type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED;
  };
  if (on_device(copy.dstMemoryType)) each(0u, std::uint64_t{copy.dstDevice});
  if (on_device(copy.srcMemoryType)) each(8u, std::uint64_t{copy.srcDevice});
}

}  // namespace

std::size_t given_pointers(const DriverApi& driver, const Allocations& allocations, const GraphCall& call,
                           std::span<GraphPointer> to) {
  std::size_t count = 0;
  const auto add = [&](std::uint32_t offset, std::uint64_t address) {
    Allocations::Living in{};
    if (count == to.size() || !allocations.living_at(address, in)) return;
    to[count++] = {0, offset, address, in.serial, in.entry};
  };
  const RelaxedCapture relaxed(driver);
  if (call.kernel != nullptr) read_kernel(driver, *call.kernel, add);
  if (call.copy != nullptr) read_copy(*call.copy, add);
  if (call.memset != nullptr) add(0, call.memset->dst);
  return count;
}

// Pages are taken as they are touched.
struct GraphPointers::Memory {
  Allocations::Living living[wire::area::kAllocations];
  GraphPointer pointers[kMostPointers];
  bool taken[wire::area::kAllocations];  // by entry
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
    // A node that does not run uses no freed memory.
    if (graph.may_not_run(node)) continue;
    const std::uint8_t type = wire::load(graph.record(node), intern::kNodeType);
    const CUgraphNode handle = graph.handle(node);
    const auto each = [&](std::uint32_t offset, std::uint64_t address) {
      add(static_cast<std::uint32_t>(node), offset, address);
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
      each(0, memset.dst);
    }
  }
}

void GraphPointers::add(std::uint32_t node, std::uint32_t offset, std::uint64_t address) {
  const auto after = std::upper_bound(living_.begin(), living_.end(), address,
                                      [](std::uint64_t wanted, const auto& each) { return wanted < each.address; });
  if (after == living_.begin() || count_ == kMostPointers) return;
  const Allocations::Living& in = after[-1];
  if (address - in.address >= in.bytes || memory_->taken[in.entry]) return;
  memory_->taken[in.entry] = true;
  pointers_[count_++] = {node, offset, address, in.serial, in.entry};
}

}  // namespace cudadiag::record
