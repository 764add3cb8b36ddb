#include "record/calls/memory_and_graph_call_rules.h"

#include <algorithm>

namespace cudadiag::record {
namespace {

using wire::allocation::Kind;

// Reads no output pointers, because they are invalid at ENTER and after a failed call.
template <typename Parameters>
std::uint64_t bytes(const void* raw) {
  const auto& p = *static_cast<const Parameters*>(raw);
  if constexpr (requires { p.bytesize; }) return p.bytesize;
  if constexpr (requires { p.size; }) return p.size;
  if constexpr (requires { p.WidthInBytes* p.Height; }) return p.WidthInBytes * p.Height;
  return 0;
}

template <typename Pointer>
std::uint64_t number(Pointer pointer) {
  return (std::uint64_t)pointer;  // NOLINT: a pointer or an integer
}

template <typename Parameters>
MemoryCall made(const void* raw, Kind kind) {
  const auto& p = *static_cast<const Parameters*>(raw);
  MemoryCall call;
  call.kind = kind;
  call.bytes = bytes<Parameters>(raw);
  if constexpr (requires { *p.dptr; }) call.address = p.dptr == nullptr ? 0 : number(*p.dptr);
  if constexpr (requires { *p.pdptr; }) call.address = p.pdptr == nullptr ? 0 : number(*p.pdptr);
  if constexpr (requires { *p.pp; }) call.address = p.pp == nullptr ? 0 : number(*p.pp);
  if constexpr (requires {
                  p.p;
                  p.bytesize;
                })
    call.address = number(p.p);
  if constexpr (requires {
                  p.ptr;
                  p.handle;
                })
    call.address = number(p.ptr);
  if constexpr (requires { *p.pPitch; }) {
    if (p.pPitch != nullptr) call.bytes = *p.pPitch * p.Height;
  }
  return call;
}

template <typename Parameters>
MemoryCall freed(const void* raw) {
  const auto& p = *static_cast<const Parameters*>(raw);
  MemoryCall call;
  if constexpr (requires { p.dptr; }) call.address = number(p.dptr);
  if constexpr (requires { p.p; }) call.address = number(p.p);
  if constexpr (requires { p.ptr; }) call.address = number(p.ptr);
  if constexpr (requires { p.size; }) call.bytes = p.size;
  return call;
}

MemoryCall granted(const cuMemSetAccess_params& p) {
  MemoryCall call;
  const bool writes = std::any_of(p.desc, p.desc + p.count, [](const CUmemAccessDesc& each) {
    return each.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE && each.location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  });
  if (writes) call.address = p.ptr, call.bytes = p.size;
  return call;
}

}  // namespace

MemoryCall decode_memory_call(std::uint32_t id, const void* parameters) {
  MemoryCall call;
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2:
      call = made<cuMemAlloc_v2_params>(parameters, Kind::device);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2:
      call = made<cuMemAllocPitch_v2_params>(parameters, Kind::device);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged:
      call = made<cuMemAllocManaged_params>(parameters, Kind::managed);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocHost_v2:
      call = made<cuMemAllocHost_v2_params>(parameters, Kind::pinned);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc:
      call = made<cuMemHostAlloc_params>(parameters, Kind::pinned);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemHostRegister_v2:
      call = made<cuMemHostRegister_v2_params>(parameters, Kind::registered);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync_ptsz:
      call = made<cuMemAllocAsync_params>(parameters, Kind::ordered);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync_ptsz:
      call = made<cuMemAllocFromPoolAsync_params>(parameters, Kind::ordered);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemMap:
      call = made<cuMemMap_params>(parameters, Kind::mapped);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuIpcOpenMemHandle_v2:
      call = made<cuIpcOpenMemHandle_v2_params>(parameters, Kind::opened);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2:
      call = freed<cuMemFree_v2_params>(parameters);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemFreeHost:
      call = freed<cuMemFreeHost_params>(parameters);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemHostUnregister:
      call = freed<cuMemHostUnregister_params>(parameters);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync_ptsz:
      call = freed<cuMemFreeAsync_params>(parameters);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuIpcCloseMemHandle:
      call = freed<cuIpcCloseMemHandle_params>(parameters);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemUnmap:
      call = freed<cuMemUnmap_params>(parameters);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemSetAccess:
      call = granted(*static_cast<const cuMemSetAccess_params*>(parameters));
      break;
    default:
      break;
  }
  call.what = memory_call(id);
  return call;
}

std::uint64_t bytes_asked_for(std::uint32_t id, const void* parameters) {
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2:
      return bytes<cuMemAlloc_v2_params>(parameters);
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2:
      return bytes<cuMemAllocPitch_v2_params>(parameters);
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged:
      return bytes<cuMemAllocManaged_params>(parameters);
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocHost_v2:
      return bytes<cuMemAllocHost_v2_params>(parameters);
    case CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc:
      return bytes<cuMemHostAlloc_params>(parameters);
    case CUPTI_DRIVER_TRACE_CBID_cuMemHostRegister_v2:
      return bytes<cuMemHostRegister_v2_params>(parameters);
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync_ptsz:
      return bytes<cuMemAllocAsync_params>(parameters);
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync_ptsz:
      return bytes<cuMemAllocFromPoolAsync_params>(parameters);
    case CUPTI_DRIVER_TRACE_CBID_cuMemCreate:
      return bytes<cuMemCreate_params>(parameters);
    default:
      return 0;
  }
}

namespace {

// Reads the members that exist in `Parameters`.
template <typename Parameters>
GraphCall read(const void* raw) {
  GraphCall call;
  const auto& p = *static_cast<const Parameters*>(raw);
  if constexpr (requires { p.hGraph; }) call.graph = p.hGraph;
  if constexpr (requires { p.hGraphExec; }) call.exec = p.hGraphExec;
  if constexpr (requires { p.phGraphExec; }) call.made = p.phGraphExec;
  if constexpr (requires { p.hNode; }) call.node = p.hNode;
  if constexpr (requires { p.flags; }) call.flags = p.flags;
  if constexpr (requires { p.instantiateParams->flags; }) {
    if (p.instantiateParams != nullptr) call.flags = p.instantiateParams->flags;
  }
  if constexpr (requires { p.phGraphNode; }) {
    call.added = p.phGraphNode;
    const CUgraphNodeParams* given = p.nodeParams;
    if (given != nullptr && given->type == CU_GRAPH_NODE_TYPE_CONDITIONAL) call.conditional = &given->conditional;
  }
  return call;
}

}  // namespace

GraphCall decode_graph_call(std::uint32_t id, const void* parameters) {
  GraphCall call;
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode:
      call = read<cuGraphAddNode_params>(parameters);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode_v2:
      call = read<cuGraphAddNode_v2_params>(parameters);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate_v2:
      call = read<cuGraphInstantiate_v2_params>(parameters);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags:
      call = read<cuGraphInstantiateWithFlags_params>(parameters);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams_ptsz:
      call = read<cuGraphInstantiateWithParams_params>(parameters);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate_v2:
      call = read<cuGraphExecUpdate_v2_params>(parameters);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams_v2:
      call = read<cuGraphExecKernelNodeSetParams_v2_params>(parameters);
      call.kernel = static_cast<const cuGraphExecKernelNodeSetParams_v2_params*>(parameters)->nodeParams;
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecMemcpyNodeSetParams:
      call = read<cuGraphExecMemcpyNodeSetParams_params>(parameters);
      call.copy = static_cast<const cuGraphExecMemcpyNodeSetParams_params*>(parameters)->copyParams;
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecMemsetNodeSetParams:
      call = read<cuGraphExecMemsetNodeSetParams_params>(parameters);
      call.memset = static_cast<const cuGraphExecMemsetNodeSetParams_params*>(parameters)->memsetParams;
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecHostNodeSetParams:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecChildGraphNodeSetParams:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecNodeSetParams:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphNodeSetEnabled:
      call = read<cuGraphNodeSetEnabled_params>(parameters);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecDestroy:
      call = read<cuGraphExecDestroy_params>(parameters);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuGraphDestroy:
      call = read<cuGraphDestroy_params>(parameters);
      break;
    default:
      break;
  }
  call.what = graph_call(id);
  return call;
}

}  // namespace cudadiag::record
