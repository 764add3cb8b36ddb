// Graph nodes: adding them by hand, querying them, removing them.
#include <algorithm>

#include "api/api.h"
#include "graph.h"
#include "launch.h"

using sim::Gpu;
using sim::Op;

namespace {

sim::Launch launch_of(const CUDA_KERNEL_NODE_PARAMS& p) {
  return {p.func,      p.gridDimX,  p.gridDimY,       p.gridDimZ,    p.blockDimX,
          p.blockDimY, p.blockDimZ, p.sharedMemBytes, p.kernelParams};
}

Op set_op(const CUDA_MEMSET_NODE_PARAMS& p) {
  Op op{.kind = Op::Kind::set8, .device_destination = true, .value = p.value};
  op.destination = p.dst, op.bytes = p.width;
  return op;
}

// Replaces the operation of one node of an executable graph.
CUresult set(CUgraphExec exec, CUgraphNode node, Op op) {
  Gpu::Lock lock(Gpu::instance().mutex);
  for (auto& step : exec->steps) {
    if (step.node != node) continue;
    step.op = std::move(op);
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

// Like real drivers, this accepts only nodes of three kinds, and only while their graph exists.
CUgraphExec_st::Step* switchable(CUgraphExec exec, CUgraphNode node) {
  for (auto& step : exec->steps) {
    if (step.node != node || step.life.expired()) continue;
    const CUgraphNodeType type = sim::node_type(step.op);
    const bool can_be =
        type == CU_GRAPH_NODE_TYPE_KERNEL || type == CU_GRAPH_NODE_TYPE_MEMCPY || type == CU_GRAPH_NODE_TYPE_MEMSET;
    return can_be ? &step : nullptr;
  }
  return nullptr;
}

CUgraphNode add(CUgraph graph, Op op, const CUgraphNode* dependencies, std::size_t count) {
  return sim::add_node(*graph, std::move(op), {dependencies, dependencies + count});
}

// Like the driver, copies as many nodes as `out` has room for, and sets the count to the total number of nodes.
CUresult answer(const std::vector<CUgraphNode>& nodes, CUgraphNode* out, std::size_t* count) {
  if (out) std::copy_n(nodes.begin(), std::min(*count, nodes.size()), out);
  *count = nodes.size();
  return CUDA_SUCCESS;
}

}  // namespace

SIM_API(cuGraphAddKernelNode_v2, context,
        (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies, std::size_t numDependencies,
         const CUDA_KERNEL_NODE_PARAMS* nodeParams),
        (phGraphNode, hGraph, dependencies, numDependencies, nodeParams)) {
  const sim::Launch launch = launch_of(*nodeParams);
  if (const CUresult refused = sim::check(launch); refused != CUDA_SUCCESS) return refused;
  Gpu::Lock lock(Gpu::instance().mutex);
  *phGraphNode = add(hGraph, sim::kernel_op(launch), dependencies, numDependencies);
  return CUDA_SUCCESS;
}

SIM_API(cuGraphAddMemsetNode, context,
        (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies, std::size_t numDependencies,
         const CUDA_MEMSET_NODE_PARAMS* memsetParams, CUcontext ctx),
        (phGraphNode, hGraph, dependencies, numDependencies, memsetParams, ctx)) {
  static_cast<void>(ctx);
  if (memsetParams->height != 1 || memsetParams->elementSize != 1) return CUDA_ERROR_NOT_SUPPORTED;
  Gpu::Lock lock(Gpu::instance().mutex);
  *phGraphNode = add(hGraph, set_op(*memsetParams), dependencies, numDependencies);
  return CUDA_SUCCESS;
}

SIM_API(cuGraphAddBatchMemOpNode, context,
        (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies, std::size_t numDependencies,
         const CUDA_BATCH_MEM_OP_NODE_PARAMS* nodeParams),
        (phGraphNode, hGraph, dependencies, numDependencies, nodeParams)) {
  const CUstreamBatchMemOpParams& write = nodeParams->paramArray[0];
  if (nodeParams->count != 1 || write.operation != CU_STREAM_MEM_OP_WRITE_VALUE_32) return CUDA_ERROR_NOT_SUPPORTED;
  const auto& to = write.writeValue;
  if (to.address % 4 != 0 || !Gpu::instance().memory.holds(to.address, 4)) return CUDA_ERROR_INVALID_VALUE;
  Gpu::Lock lock(Gpu::instance().mutex);
  Op op{.kind = Op::Kind::write32, .value = to.value, .destination = to.address, .bytes = 4};
  *phGraphNode = add(hGraph, std::move(op), dependencies, numDependencies);
  return CUDA_SUCCESS;
}

SIM_API(cuGraphAddChildGraphNode, context,
        (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies, std::size_t numDependencies,
         CUgraph childGraph),
        (phGraphNode, hGraph, dependencies, numDependencies, childGraph)) {
  Gpu::Lock lock(Gpu::instance().mutex);
  auto child = std::make_shared<CUgraph_st>();
  child->id = sim::next_graph_id();
  sim::copy_graph(*childGraph, *child);
  *phGraphNode = add(hGraph, {.kind = Op::Kind::wait_streams}, dependencies, numDependencies);
  (*phGraphNode)->type = CU_GRAPH_NODE_TYPE_GRAPH;
  (*phGraphNode)->child = std::move(child);
  return CUDA_SUCCESS;
}

// Supports only conditional nodes with one body.
SIM_API(cuGraphAddNode_v2, context,
        (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
         const CUgraphEdgeData* dependencyData, std::size_t numDependencies, CUgraphNodeParams* nodeParams),
        (phGraphNode, hGraph, dependencies, dependencyData, numDependencies, nodeParams)) {
  static_cast<void>(dependencyData);
  if (nodeParams->type != CU_GRAPH_NODE_TYPE_CONDITIONAL || nodeParams->conditional.size != 1) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  Gpu::Lock lock(Gpu::instance().mutex);
  CUgraphNode node = add(hGraph, {.kind = Op::Kind::wait_streams}, dependencies, numDependencies);
  node->type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  node->child = std::make_shared<CUgraph_st>();
  node->child->id = sim::next_graph_id();
  node->body = node->child.get();
  nodeParams->conditional.phGraph_out = &node->body;
  *phGraphNode = node;
  return CUDA_SUCCESS;
}

SIM_API(cuGraphChildGraphNodeGetGraph, driver, (CUgraphNode hNode, CUgraph* phGraph), (hNode, phGraph)) {
  if (hNode->type != CU_GRAPH_NODE_TYPE_GRAPH) return CUDA_ERROR_INVALID_VALUE;
  *phGraph = hNode->child.get();
  return CUDA_SUCCESS;
}

SIM_API(cuGraphGetNodes, driver, (CUgraph hGraph, CUgraphNode* nodes, std::size_t* numNodes),
        (hGraph, nodes, numNodes)) {
  Gpu::Lock lock(Gpu::instance().mutex);
  std::vector<CUgraphNode> all;
  for (const auto& node : hGraph->nodes) all.push_back(node.get());
  return answer(all, nodes, numNodes);
}

SIM_API(cuGraphGetEdges_v2, driver,
        (CUgraph hGraph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* edgeData, std::size_t* numEdges),
        (hGraph, from, to, edgeData, numEdges)) {
  Gpu::Lock lock(Gpu::instance().mutex);
  std::vector<CUgraphNode> starts, ends;
  for (const auto& node : hGraph->nodes) {
    for (CUgraphNode dependency : node->dependencies) starts.push_back(dependency), ends.push_back(node.get());
  }
  if (edgeData) std::fill_n(edgeData, std::min(*numEdges, starts.size()), CUgraphEdgeData{});
  if (to) std::copy_n(ends.begin(), std::min(*numEdges, ends.size()), to);
  return answer(starts, from, numEdges);
}

SIM_API(cuGraphNodeGetDependentNodes_v2, driver,
        (CUgraphNode hNode, CUgraphNode* dependentNodes, CUgraphEdgeData* edgeData, std::size_t* numDependentNodes),
        (hNode, dependentNodes, edgeData, numDependentNodes)) {
  Gpu::Lock lock(Gpu::instance().mutex);
  std::vector<CUgraphNode> dependent;
  for (const auto& node : hNode->graph->nodes) {
    if (std::count(node->dependencies.begin(), node->dependencies.end(), hNode)) dependent.push_back(node.get());
  }
  if (edgeData) std::fill_n(edgeData, std::min(*numDependentNodes, dependent.size()), CUgraphEdgeData{});
  return answer(dependent, dependentNodes, numDependentNodes);
}

SIM_API(cuGraphAddDependencies_v2, driver,
        (CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData* edgeData,
         std::size_t numDependencies),
        (hGraph, from, to, edgeData, numDependencies)) {
  static_cast<void>(edgeData);
  Gpu::Lock lock(Gpu::instance().mutex);
  for (std::size_t i = 0; i < numDependencies; ++i) {
    if (from[i]->graph != hGraph || to[i]->graph != hGraph) return CUDA_ERROR_INVALID_VALUE;
    to[i]->dependencies.push_back(from[i]);
  }
  return CUDA_SUCCESS;
}

SIM_API(cuGraphDestroyNode, driver, (CUgraphNode hNode), (hNode)) {
  Gpu::Lock lock(Gpu::instance().mutex);
  auto& nodes = hNode->graph->nodes;
  for (const auto& node : nodes) std::erase(node->dependencies, hNode);
  std::erase_if(nodes, [&](const auto& node) { return node.get() == hNode; });
  return CUDA_SUCCESS;
}

SIM_API(cuGraphNodeGetType, driver, (CUgraphNode hNode, CUgraphNodeType* type), (hNode, type)) {
  *type = hNode->type;
  return CUDA_SUCCESS;
}

SIM_API(cuGraphKernelNodeGetParams_v2, driver, (CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS* nodeParams),
        (hNode, nodeParams)) {
  if (hNode->type != CU_GRAPH_NODE_TYPE_KERNEL) return CUDA_ERROR_INVALID_VALUE;
  const Op& op = hNode->op;
  *nodeParams = {};
  nodeParams->func = op.function;
  nodeParams->gridDimX = op.grid[0], nodeParams->gridDimY = op.grid[1], nodeParams->gridDimZ = op.grid[2];
  nodeParams->blockDimX = op.block[0], nodeParams->blockDimY = op.block[1], nodeParams->blockDimZ = op.block[2];
  nodeParams->sharedMemBytes = op.shared_bytes;
  thread_local std::vector<void*> parameters;
  parameters.clear();
  for (auto& each : hNode->op.parameters) parameters.push_back(each.data());
  if (!parameters.empty()) nodeParams->kernelParams = parameters.data();
  return CUDA_SUCCESS;
}

SIM_API(cuGraphKernelNodeSetAttribute, driver,
        (CUgraphNode hNode, CUkernelNodeAttrID attr, const CUkernelNodeAttrValue* value), (hNode, attr, value)) {
  if (attr != CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE) return CUDA_ERROR_INVALID_VALUE;
  hNode->device_updatable = value->deviceUpdatableKernelNode.deviceUpdatable != 0;
  return CUDA_SUCCESS;
}

SIM_API(cuGraphKernelNodeGetAttribute, driver,
        (CUgraphNode hNode, CUkernelNodeAttrID attr, CUkernelNodeAttrValue* value_out), (hNode, attr, value_out)) {
  if (attr != CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE) return CUDA_ERROR_INVALID_VALUE;
  *value_out = {};
  value_out->deviceUpdatableKernelNode.deviceUpdatable = hNode->device_updatable;
  return CUDA_SUCCESS;
}

SIM_API(cuGraphMemsetNodeGetParams, driver, (CUgraphNode hNode, CUDA_MEMSET_NODE_PARAMS* nodeParams),
        (hNode, nodeParams)) {
  if (hNode->type != CU_GRAPH_NODE_TYPE_MEMSET) return CUDA_ERROR_INVALID_VALUE;
  *nodeParams = {};
  nodeParams->dst = hNode->op.destination;
  nodeParams->width = hNode->op.bytes;
  nodeParams->height = nodeParams->elementSize = 1;
  return CUDA_SUCCESS;
}

SIM_API(cuGraphMemcpyNodeGetParams, driver, (CUgraphNode hNode, CUDA_MEMCPY3D* nodeParams), (hNode, nodeParams)) {
  if (hNode->type != CU_GRAPH_NODE_TYPE_MEMCPY) return CUDA_ERROR_INVALID_VALUE;
  *nodeParams = {};
  nodeParams->srcMemoryType = nodeParams->dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  nodeParams->srcDevice = hNode->op.source;
  if (!hNode->op.device_source) {
    nodeParams->srcMemoryType = CU_MEMORYTYPE_HOST;
    nodeParams->srcHost = reinterpret_cast<const void*>(hNode->op.source);
  }
  nodeParams->dstDevice = hNode->op.destination;
  nodeParams->WidthInBytes = hNode->op.bytes;
  nodeParams->Height = nodeParams->Depth = 1;
  return CUDA_SUCCESS;
}

SIM_API(cuGraphHostNodeGetParams, driver, (CUgraphNode hNode, CUDA_HOST_NODE_PARAMS* nodeParams), (hNode, nodeParams)) {
  if (hNode->type != CU_GRAPH_NODE_TYPE_HOST) return CUDA_ERROR_INVALID_VALUE;
  *nodeParams = {hNode->op.host_function, hNode->op.data};
  return CUDA_SUCCESS;
}

SIM_API(cuGraphEventRecordNodeGetEvent, driver, (CUgraphNode hNode, CUevent* event_out), (hNode, event_out)) {
  if (hNode->type != CU_GRAPH_NODE_TYPE_EVENT_RECORD) return CUDA_ERROR_INVALID_VALUE;
  *event_out = static_cast<CUevent>(hNode->op.data);
  return CUDA_SUCCESS;
}

SIM_API(cuGraphEventWaitNodeGetEvent, driver, (CUgraphNode hNode, CUevent* event_out), (hNode, event_out)) {
  if (hNode->type != CU_GRAPH_NODE_TYPE_WAIT_EVENT) return CUDA_ERROR_INVALID_VALUE;
  *event_out = static_cast<CUevent>(hNode->op.data);
  return CUDA_SUCCESS;
}

SIM_API(cuGraphNodeSetEnabled, context, (CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int isEnabled),
        (hGraphExec, hNode, isEnabled)) {
  Gpu::Lock lock(Gpu::instance().mutex);
  auto* step = switchable(hGraphExec, hNode);
  if (!step) return CUDA_ERROR_INVALID_VALUE;
  step->enabled = isEnabled != 0;
  return CUDA_SUCCESS;
}

SIM_API(cuGraphNodeGetEnabled, context, (CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int* isEnabled),
        (hGraphExec, hNode, isEnabled)) {
  Gpu::Lock lock(Gpu::instance().mutex);
  const auto* step = switchable(hGraphExec, hNode);
  if (!step) return CUDA_ERROR_INVALID_VALUE;
  *isEnabled = step->enabled;
  return CUDA_SUCCESS;
}

SIM_API(cuGraphExecKernelNodeSetParams_v2, context,
        (CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS* nodeParams),
        (hGraphExec, hNode, nodeParams)) {
  const sim::Launch launch = launch_of(*nodeParams);
  if (const CUresult refused = sim::check(launch); refused != CUDA_SUCCESS) return refused;
  return set(hGraphExec, hNode, sim::kernel_op(launch));
}

SIM_API(cuGraphExecMemsetNodeSetParams, context,
        (CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_MEMSET_NODE_PARAMS* memsetParams, CUcontext ctx),
        (hGraphExec, hNode, memsetParams, ctx)) {
  static_cast<void>(ctx);
  if (memsetParams->height != 1 || memsetParams->elementSize != 1) return CUDA_ERROR_NOT_SUPPORTED;
  return set(hGraphExec, hNode, set_op(*memsetParams));
}

SIM_API(cuGraphExecMemcpyNodeSetParams, context,
        (CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_MEMCPY3D* copyParams, CUcontext ctx),
        (hGraphExec, hNode, copyParams, ctx)) {
  static_cast<void>(ctx);
  const bool from_host = copyParams->srcMemoryType == CU_MEMORYTYPE_HOST;
  if ((!from_host && copyParams->srcMemoryType != CU_MEMORYTYPE_DEVICE) ||
      copyParams->dstMemoryType != CU_MEMORYTYPE_DEVICE || copyParams->Height != 1 || copyParams->Depth != 1) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  Op op{.kind = Op::Kind::copy, .device_source = !from_host, .device_destination = true};
  op.destination = copyParams->dstDevice, op.bytes = copyParams->WidthInBytes;
  op.source = from_host ? reinterpret_cast<CUdeviceptr>(copyParams->srcHost) : copyParams->srcDevice;
  return set(hGraphExec, hNode, std::move(op));
}

SIM_API(cuGraphExecChildGraphNodeSetParams, context, (CUgraphExec hGraphExec, CUgraphNode hNode, CUgraph childGraph),
        (hGraphExec, hNode, childGraph)) {
  if (!hNode->child) return CUDA_ERROR_INVALID_VALUE;
  const auto before = sim::steps_of(*hNode->child);
  auto now = sim::steps_of(*childGraph);
  if (now.size() != before.size()) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const CUresult result = set(hGraphExec, before[i].node, std::move(now[i].op));
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}
