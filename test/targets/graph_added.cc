// A graph that is built node by node. Its only kernel is in a child graph, and an assertion in that kernel fails in the
// second replay.
// Plan: fault kernel=check nth=2 code=710
#include "driver.h"

static CUgraph child_of(const Driver& driver) {
  CUgraph child = nullptr;
  CUgraphNode node = nullptr;
  CUDA_KERNEL_NODE_PARAMS check = {};
  check.func = driver.kernel("check");
  check.gridDimX = 7, check.gridDimY = check.gridDimZ = check.blockDimX = check.blockDimY = check.blockDimZ = 1;
  CHECK(cuGraphCreate(&child, 0));
  CHECK(cuGraphAddKernelNode(&node, child, nullptr, 0, &check));  // TRUE LINE
  return child;
}

int main() {
  Driver driver;
  CUstream stream = driver.stream();
  CUgraph graph = nullptr, child = child_of(driver);
  CUgraphNode first = nullptr, second = nullptr;
  CUgraphExec exec = nullptr;
  CUDA_MEMSET_NODE_PARAMS clear = {driver.allocate(64), 0, 0, 1, 64, 1};
  CHECK(cuGraphCreate(&graph, 0));
  CHECK(cuGraphAddMemsetNode(&first, graph, nullptr, 0, &clear, driver.context));
  CHECK(cuGraphAddChildGraphNode(&second, graph, &first, 1, child));
  CHECK(cuGraphDestroy(child));
  CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  CHECK(cuGraphLaunch(exec, stream));
  CHECK(cuGraphLaunch(exec, stream));  // REPLAY LINE
  CHECK(cuStreamSynchronize(stream));  // REPORTED LINE
  std::puts("done");
}
