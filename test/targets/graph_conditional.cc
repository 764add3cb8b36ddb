// A kernel fails in the body of a graph's conditional node. "cloned": launches a clone of the graph, whose body the
// recorder never saw.
// Plan: fault kernel=denoise nth=2 code=700
#include <cstring>

#include "driver.h"

static CUDA_KERNEL_NODE_PARAMS launch_of(const Driver& driver, const char* kernel) {
  CUDA_KERNEL_NODE_PARAMS params = {};
  params.func = driver.kernel(kernel);
  params.gridDimX = params.gridDimY = params.gridDimZ = params.blockDimX = params.blockDimY = params.blockDimZ = 1;
  return params;
}

int main(int count, char** arguments) {
  Driver driver;
  CUstream stream = driver.stream();
  CUgraph graph = nullptr;
  CUgraphNode classify = nullptr, branch = nullptr, denoise = nullptr;
  CUgraphExec exec = nullptr;
  const CUDA_KERNEL_NODE_PARAMS first = launch_of(driver, "classify"), second = launch_of(driver, "denoise");
  CHECK(cuGraphCreate(&graph, 0));
  CHECK(cuGraphAddKernelNode(&classify, graph, nullptr, 0, &first));
  CUgraphNodeParams params = {};
  params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  params.conditional.type = CU_GRAPH_COND_TYPE_IF;
  params.conditional.size = 1;
  params.conditional.ctx = driver.context;
  CHECK(cuGraphAddNode(&branch, graph, &classify, nullptr, 1, &params));                          // BRANCH LINE
  CHECK(cuGraphAddKernelNode(&denoise, params.conditional.phGraph_out[0], nullptr, 0, &second));  // BODY LINE
  if (count > 1 && std::strcmp(arguments[1], "cloned") == 0) CHECK(cuGraphClone(&graph, graph));
  CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  CHECK(cuGraphLaunch(exec, stream));
  CHECK(cuGraphLaunch(exec, stream));  // TRUE LINE
  CHECK(cuStreamSynchronize(stream));  // REPORTED LINE
  std::puts("done");
}
