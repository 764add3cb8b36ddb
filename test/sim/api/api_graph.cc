// Graphs: built by capture or by hand. They run node after node on the stream into which they are launched.
#include <algorithm>
#include <unordered_map>

#include "api/api.h"
#include "graph.h"

using sim::Gpu;

std::uint32_t sim::next_graph_id() {
  static std::atomic<std::uint32_t> last{0};
  return ++last;
}

void sim::copy_graph(CUgraph_st& from, CUgraph_st& to) {
  std::unordered_map<CUgraphNode, CUgraphNode> copies;
  for (const auto& node : from.nodes) {
    CUgraphNode copy = add_node(to, node->op, {});
    copy->type = node->type;
    announce_clone(*copy, *node);
    if (node->child) {
      copy->child = std::make_shared<CUgraph_st>();
      copy_graph(*node->child, *copy->child);
    }
    copies[node.get()] = copy;
  }
  // A node may depend on a node that comes later in the list.
  for (const auto& node : from.nodes) {
    for (CUgraphNode dependency : node->dependencies) {
      copies.at(node.get())->dependencies.push_back(copies.at(dependency));
    }
  }
}

std::vector<CUgraphExec_st::Step> sim::steps_of(CUgraph_st& graph) {
  std::vector<CUgraphExec_st::Step> steps;
  std::vector<CUgraphNode> waiting;
  std::unordered_map<CUgraphNode, bool> done;
  for (const auto& node : graph.nodes) waiting.push_back(node.get());
  while (!waiting.empty()) {
    const auto next = std::find_if(waiting.begin(), waiting.end(), [&](CUgraphNode node) {
      return std::all_of(node->dependencies.begin(), node->dependencies.end(), [&](CUgraphNode d) { return done[d]; });
    });
    CUgraphNode node = *next;
    waiting.erase(next);
    done[node] = true;
    if (node->child) {
      auto inner = steps_of(*node->child);
      std::move(inner.begin(), inner.end(), std::back_inserter(steps));
    } else if (node->type != CU_GRAPH_NODE_TYPE_EMPTY) {
      steps.push_back({node, node->op, node->life});
    }
  }
  return steps;
}

namespace {

// Holds destroyed executable graphs. Their handles are reused, the latest first.
std::vector<CUgraphExec>& spare_execs() {
  static auto& execs = *new std::vector<CUgraphExec>;
  return execs;
}

CUresult instantiate(CUgraphExec* exec, CUgraph graph) {
  if (!graph) return CUDA_ERROR_INVALID_VALUE;
  Gpu::Lock lock(Gpu::instance().mutex);
  if (spare_execs().empty()) spare_execs().push_back(new CUgraphExec_st);
  CUgraphExec made = spare_execs().back();
  spare_execs().pop_back();
  *made = {sim::next_graph_id(), sim::steps_of(*graph)};
  // The driver works on its own copy of the graph, and CUPTI also reports the copy's nodes.
  CUgraph_st own;
  sim::copy_graph(*graph, own);
  *exec = made;
  sim::announce_exec(graph, made);
  return CUDA_SUCCESS;
}

}  // namespace

SIM_API(cuGraphCreate, driver, (CUgraph * phGraph, unsigned int flags), (phGraph, flags)) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  *phGraph = new CUgraph_st{sim::next_graph_id(), {}};
  return CUDA_SUCCESS;
}

SIM_API(cuGraphClone, driver, (CUgraph * phGraphClone, CUgraph originalGraph), (phGraphClone, originalGraph)) {
  Gpu::Lock lock(Gpu::instance().mutex);
  *phGraphClone = new CUgraph_st{sim::next_graph_id(), {}};
  sim::copy_graph(*originalGraph, **phGraphClone);
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

SIM_API(cuGraphExecUpdate_v2, context,
        (CUgraphExec hGraphExec, CUgraph hGraph, CUgraphExecUpdateResultInfo* resultInfo),
        (hGraphExec, hGraph, resultInfo)) {
  Gpu::Lock lock(Gpu::instance().mutex);
  auto steps = sim::steps_of(*hGraph);
  const bool fits =
      std::equal(steps.begin(), steps.end(), hGraphExec->steps.begin(), hGraphExec->steps.end(),
                 [](const auto& a, const auto& b) { return sim::node_type(a.op) == sim::node_type(b.op); });
  *resultInfo = {};
  resultInfo->result = fits ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  if (!fits) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  // Callers continue to identify the nodes by the handles of the original graph.
  for (std::size_t i = 0; i < steps.size(); ++i) hGraphExec->steps[i].op = std::move(steps[i].op);
  return CUDA_SUCCESS;
}

SIM_API_STREAM(cuGraphLaunch, _ptsz, context, (CUgraphExec hGraphExec, CUstream hStream), (hGraphExec, hStream)) {
  if (!hGraphExec) return CUDA_ERROR_INVALID_VALUE;
  Gpu::Lock lock(Gpu::instance().mutex);
  CUstream_st* stream = sim::stream_of(hStream, per_thread);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  for (const auto& step : hGraphExec->steps) {
    if (!step.enabled) continue;
    if (const CUresult result = sim::issue(lock, *stream, step.op); result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

SIM_API(cuGraphExecDestroy, driver, (CUgraphExec hGraphExec), (hGraphExec)) {
  if (!hGraphExec) return CUDA_ERROR_INVALID_VALUE;
  Gpu::Lock lock(Gpu::instance().mutex);
  const auto& spare = spare_execs();
  if (std::find(spare.begin(), spare.end(), hGraphExec) != spare.end()) return CUDA_ERROR_INVALID_VALUE;
  *hGraphExec = {};
  spare_execs().push_back(hGraphExec);
  return CUDA_SUCCESS;
}

SIM_API(cuGraphDestroy, driver, (CUgraph hGraph), (hGraph)) {
  delete hGraph;
  return CUDA_SUCCESS;
}
