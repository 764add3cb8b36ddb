// Graphs: built by capture or by hand, run node after node on the stream they are launched into.
#include "api.h"
#include "launch.h"

using sim::Gpu;
using sim::Op;

namespace {

std::atomic<std::uint32_t> last_id{0};

CUresult instantiate(CUgraphExec* exec, CUgraph graph) {
  if (!graph) return CUDA_ERROR_INVALID_VALUE;
  auto* made = new CUgraphExec_st{++last_id, {}};
  Gpu::Lock lock(Gpu::instance().mutex);
  for (const auto& node : graph->nodes) {
    if (node->type != CU_GRAPH_NODE_TYPE_EMPTY) made->ops.push_back(node->op);
  }
  *exec = made;
  sim::announce_exec(graph, made);
  return CUDA_SUCCESS;
}

}  // namespace

SIM_API(cuGraphCreate, driver, (CUgraph * phGraph, unsigned int flags), (phGraph, flags)) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  *phGraph = new CUgraph_st{++last_id, {}};
  return CUDA_SUCCESS;
}

SIM_API(cuGraphAddKernelNode_v2, context,
        (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies, std::size_t numDependencies,
         const CUDA_KERNEL_NODE_PARAMS* nodeParams),
        (phGraphNode, hGraph, dependencies, numDependencies, nodeParams)) {
  const CUDA_KERNEL_NODE_PARAMS& p = *nodeParams;
  const sim::Launch launch{p.func,      p.gridDimX,  p.gridDimY,       p.gridDimZ,    p.blockDimX,
                           p.blockDimY, p.blockDimZ, p.sharedMemBytes, p.kernelParams};
  if (const CUresult refused = sim::check(launch); refused != CUDA_SUCCESS) return refused;
  Gpu::Lock lock(Gpu::instance().mutex);
  *phGraphNode = sim::add_node(*hGraph, sim::kernel_op(launch), {dependencies, dependencies + numDependencies});
  return CUDA_SUCCESS;
}

SIM_API(cuGraphGetNodes, driver, (CUgraph hGraph, CUgraphNode* nodes, std::size_t* numNodes),
        (hGraph, nodes, numNodes)) {
  Gpu::Lock lock(Gpu::instance().mutex);
  if (nodes) {
    for (std::size_t i = 0; i < hGraph->nodes.size() && i < *numNodes; ++i) nodes[i] = hGraph->nodes[i].get();
  }
  *numNodes = hGraph->nodes.size();
  return CUDA_SUCCESS;
}

SIM_API(cuGraphInstantiateWithFlags, context, (CUgraphExec * phGraphExec, CUgraph hGraph, unsigned long long flags),
        (phGraphExec, hGraph, flags)) {
  static_cast<void>(flags);
  return instantiate(phGraphExec, hGraph);
}

SIM_API_STREAM(cuGraphInstantiateWithParams, _ptsz, context,
               (CUgraphExec * phGraphExec, CUgraph hGraph, CUDA_GRAPH_INSTANTIATE_PARAMS* instantiateParams),
               (phGraphExec, hGraph, instantiateParams)) {
  instantiateParams->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  return instantiate(phGraphExec, hGraph);
}

SIM_API_STREAM(cuGraphLaunch, _ptsz, context, (CUgraphExec hGraphExec, CUstream hStream), (hGraphExec, hStream)) {
  if (!hGraphExec) return CUDA_ERROR_INVALID_VALUE;
  Gpu::Lock lock(Gpu::instance().mutex);
  CUstream_st* stream = sim::stream_of(hStream, per_thread);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  for (const Op& op : hGraphExec->ops) {
    if (const CUresult result = sim::issue(lock, *stream, op); result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

SIM_API(cuGraphExecDestroy, driver, (CUgraphExec hGraphExec), (hGraphExec)) {
  delete hGraphExec;
  return CUDA_SUCCESS;
}

SIM_API(cuGraphDestroy, driver, (CUgraph hGraph), (hGraph)) {
  delete hGraph;
  return CUDA_SUCCESS;
}
