// The rules for driver calls on memory and on CUDA graphs, by CUPTI callback id.
#pragma once

#include <cupti.h>

#include <cstdint>

#include "wire/tables.h"

namespace cudadiag::record {

struct MemoryCall {
  enum class What : std::uint8_t {
    none,
    makes,
    frees,   // frees the allocation that begins at `address`
    unmaps,  // unmaps the range of `bytes` bytes at `address`
    asks,    // allocates memory that has no address yet; only the size is used
    grants,  // allows devices to access mapped memory
  };
  What what = What::none;
  wire::allocation::Kind kind = wire::allocation::Kind::none;
  std::uint64_t address = 0, bytes = 0;  // `bytes` is 0 if the call has no size
};

constexpr MemoryCall::What memory_call(std::uint32_t id) {
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged:
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocHost_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc:
    case CUPTI_DRIVER_TRACE_CBID_cuMemHostRegister_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuMemMap:
    case CUPTI_DRIVER_TRACE_CBID_cuIpcOpenMemHandle_v2:
      return MemoryCall::What::makes;
    case CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemFreeHost:
    case CUPTI_DRIVER_TRACE_CBID_cuMemHostUnregister:
    case CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuIpcCloseMemHandle:
      return MemoryCall::What::frees;
    case CUPTI_DRIVER_TRACE_CBID_cuMemUnmap:
      return MemoryCall::What::unmaps;
    case CUPTI_DRIVER_TRACE_CBID_cuMemSetAccess:
      return MemoryCall::What::grants;
    case CUPTI_DRIVER_TRACE_CBID_cuMemCreate:
      return MemoryCall::What::asks;
    default:
      return MemoryCall::What::none;
  }
}

// `parameters` is CUPTI's structure at EXIT of a successful call.
MemoryCall decode_memory_call(std::uint32_t id, const void* parameters);
// Returns the number of bytes that the call requests; 0 if it requests none. May be called at ENTER or EXIT.
std::uint64_t bytes_asked_for(std::uint32_t id, const void* parameters);

struct GraphCall {
  enum class What : std::uint8_t {
    none,
    add_node,     // nodes created inside the call are attributed to its line
    instantiate,  // `made` points to the executable graph once the call has returned
    update,       // updates `exec` to match `graph`
    set_node,     // sets the parameters of one node of `exec`
    switch_node,  // enables or disables the node
    destroy,      // destroys `exec`
    destroy_graph,
  };
  What what = What::none;
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  const CUgraphExec* made = nullptr;
  CUgraphNode node = nullptr;
  // The node's new parameters, for set_node. At most one of these pointers is not null.
  const CUDA_KERNEL_NODE_PARAMS* kernel = nullptr;
  const CUDA_MEMCPY3D* copy = nullptr;
  const CUDA_MEMSET_NODE_PARAMS* memset = nullptr;
  // For add_node: the parameters of a conditional node. `added` points to the new node once the call has returned.
  const CUDA_CONDITIONAL_NODE_PARAMS* conditional = nullptr;
  const CUgraphNode* added = nullptr;
  unsigned long long flags = 0;  // flags of an instantiation
};

constexpr GraphCall::What graph_call(std::uint32_t id) {
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuGraphAddKernelNode:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphAddKernelNode_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphAddMemcpyNode:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphAddMemsetNode:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphAddHostNode:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphAddChildGraphNode:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphAddBatchMemOpNode:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphClone:
      return GraphCall::What::add_node;
    case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams_ptsz:
      return GraphCall::What::instantiate;
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate_v2:
      return GraphCall::What::update;
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecMemcpyNodeSetParams:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecMemsetNodeSetParams:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecHostNodeSetParams:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecChildGraphNodeSetParams:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecNodeSetParams:
      return GraphCall::What::set_node;
    case CUPTI_DRIVER_TRACE_CBID_cuGraphNodeSetEnabled:
      return GraphCall::What::switch_node;
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecDestroy:
      return GraphCall::What::destroy;
    case CUPTI_DRIVER_TRACE_CBID_cuGraphDestroy:
      return GraphCall::What::destroy_graph;
    default:
      return GraphCall::What::none;
  }
}

// Decodes calls with Role::graph. `parameters` is the structure that CUPTI passes.
GraphCall decode_graph_call(std::uint32_t id, const void* parameters);

}  // namespace cudadiag::record
