// Correct: a graph's memory is freed after the graph was changed to use other memory, or after its last replay.
#include <initializer_list>

#include "driver.h"

struct Recorded {
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec exec = nullptr;
};

static CUDA_KERNEL_NODE_PARAMS launch(CUfunction store, void** parameters) {
  CUDA_KERNEL_NODE_PARAMS kernel = {};
  kernel.func = store;
  kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = 1;
  kernel.blockDimX = 32, kernel.blockDimY = kernel.blockDimZ = 1;
  kernel.kernelParams = parameters;
  return kernel;
}

static Recorded storing(CUfunction store, CUdeviceptr memory) {
  unsigned value = 7;
  void* parameters[] = {&memory, &value};
  const CUDA_KERNEL_NODE_PARAMS kernel = launch(store, parameters);
  Recorded recorded;
  CHECK(cuGraphCreate(&recorded.graph, 0));
  CHECK(cuGraphAddKernelNode(&recorded.node, recorded.graph, nullptr, 0, &kernel));
  return recorded;
}

// Changes all nodes of a child graph to different memory.
static void change_child(const Driver& driver, CUstream stream, CUfunction store) {
  CUdeviceptr before = driver.allocate(4096), after = driver.allocate(4096);
  Recorded around;
  CHECK(cuGraphCreate(&around.graph, 0));
  CHECK(cuGraphAddChildGraphNode(&around.node, around.graph, nullptr, 0, storing(store, before).graph));
  CHECK(cuGraphInstantiateWithFlags(&around.exec, around.graph, 0));
  CHECK(cuGraphExecChildGraphNodeSetParams(around.exec, around.node, storing(store, after).graph));
  CHECK(cuMemFree(before));
  CHECK(cuGraphLaunch(around.exec, stream));
  CHECK(cuStreamSynchronize(stream));
}

// Changes a node by its old handle, which stays valid after an update of the whole graph.
static void change_updated(const Driver& driver, CUstream stream, CUfunction store) {
  CUdeviceptr before = driver.allocate(4096), after = driver.allocate(4096);
  Recorded recorded = storing(store, before);
  CHECK(cuGraphInstantiateWithFlags(&recorded.exec, recorded.graph, 0));
  CUgraphExecUpdateResultInfo info;
  CHECK(cuGraphExecUpdate(recorded.exec, storing(store, before).graph, &info));
  unsigned value = 7;
  void* parameters[] = {&after, &value};
  const CUDA_KERNEL_NODE_PARAMS moved = launch(store, parameters);
  CHECK(cuGraphExecKernelNodeSetParams(recorded.exec, recorded.node, &moved));
  CHECK(cuMemFree(before));
  CHECK(cuGraphLaunch(recorded.exec, stream));
  CHECK(cuStreamSynchronize(stream));
}

int main() {
  Driver driver;
  CUstream stream = driver.stream();
  CUfunction store = driver.kernel("sim_store_u32");
  CUdeviceptr first = driver.allocate(4096), second = driver.allocate(4096), third = driver.allocate(4096);
  unsigned value = 7;
  void* parameters[] = {&first, &value};
  Recorded one, other;
  for (Recorded* recorded : {&one, &other}) {
    const CUDA_KERNEL_NODE_PARAMS kernel = launch(store, parameters);
    CHECK(cuGraphCreate(&recorded->graph, 0));
    CHECK(cuGraphAddKernelNode(&recorded->node, recorded->graph, nullptr, 0, &kernel));
    CHECK(cuGraphInstantiateWithFlags(&recorded->exec, recorded->graph, 0));
    CHECK(cuGraphLaunch(recorded->exec, stream));
  }
  // Changes the node's memory twice.
  const CUDA_KERNEL_NODE_PARAMS moved = launch(store, parameters);
  for (CUdeviceptr* memory : {&third, &second}) {
    parameters[0] = memory;
    CHECK(cuGraphExecKernelNodeSetParams(one.exec, one.node, &moved));
  }
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuMemFree(first));
  CHECK(cuMemFree(third));
  CHECK(cuGraphLaunch(one.exec, stream));
  CHECK(cuStreamSynchronize(stream));
  // The graph is replaced by a new one, with the same handle or a different one.
  CHECK(cuGraphExecDestroy(other.exec));
  CHECK(cuGraphExecDestroy(one.exec));
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec exec = nullptr;
  CHECK(cuGraphCreate(&graph, 0));
  CHECK(cuGraphAddKernelNode(&node, graph, nullptr, 0, &moved));
  CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  CHECK(cuGraphLaunch(exec, stream));
  CHECK(cuStreamSynchronize(stream));
  change_child(driver, stream, store);
  change_updated(driver, stream, store);
  std::puts("done");
}
