// What a graph points to may be freed once the graph has been given other memory, or will not be replayed any more.
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
  // The node is given other memory.
  parameters[0] = &second;
  const CUDA_KERNEL_NODE_PARAMS moved = launch(store, parameters);
  CHECK(cuGraphExecKernelNodeSetParams(one.exec, one.node, &moved));
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuMemFree(first));
  CHECK(cuMemFree(third));
  CHECK(cuGraphLaunch(one.exec, stream));
  CHECK(cuStreamSynchronize(stream));
  // The graph is replaced, at the same handle or another.
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
  std::puts("done");
}
