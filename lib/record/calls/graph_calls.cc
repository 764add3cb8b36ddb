#include "record/calls/graph_calls.h"

namespace cudadiag::record {

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
