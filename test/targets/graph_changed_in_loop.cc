// Two kernels of a graph are created at two lines, and a single line changes the parameters of both. The second kernel
// then writes to freed memory.
#include "driver.h"

struct Stored {
  CUdeviceptr memory;
  unsigned value = 7;
  void* parameters[2] = {&memory, &value};

  CUDA_KERNEL_NODE_PARAMS by(CUfunction kernel) {
    CUDA_KERNEL_NODE_PARAMS node = {};
    node.func = kernel;
    node.gridDimX = node.gridDimY = node.gridDimZ = node.blockDimX = node.blockDimY = node.blockDimZ = 1;
    node.kernelParams = parameters;
    return node;
  }
};

int main() {
  Driver driver;
  CUstream stream = driver.stream();
  CUfunction kernels[] = {driver.kernel("fill"), driver.kernel("sim_store_u32")};
  Stored well{driver.allocate(64)}, freed{driver.allocate(64)};
  CUgraph graph = nullptr;
  CUgraphNode nodes[2] = {};
  CUgraphExec exec = nullptr;
  const CUDA_KERNEL_NODE_PARAMS fill = well.by(kernels[0]), store = well.by(kernels[1]);
  CHECK(cuGraphCreate(&graph, 0));
  CHECK(cuGraphAddKernelNode(&nodes[0], graph, nullptr, 0, &fill));
  CHECK(cuGraphAddKernelNode(&nodes[1], graph, nodes, 1, &store));
  CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  CHECK(cuMemFree(freed.memory));
  for (int node = 0; node < 2; ++node) {
    const CUDA_KERNEL_NODE_PARAMS changed = freed.by(kernels[node]);
    CHECK(cuGraphExecKernelNodeSetParams(exec, nodes[node], &changed));  // TRUE LINE
  }
  CHECK(cuGraphLaunch(exec, stream));
  CHECK(cuStreamSynchronize(stream));  // REPORTED LINE
  std::puts("done");
}
