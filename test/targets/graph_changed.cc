// After the first replay, the only node that has an effect is changed to use freed memory. The argument is the node's
// kind. "later" means a kernel whose memory is freed only after the change.
#include <cstring>

#include "driver.h"

static unsigned value = 7;

static CUDA_KERNEL_NODE_PARAMS store(const Driver& driver, void** parameters) {
  CUDA_KERNEL_NODE_PARAMS kernel = {};
  kernel.func = driver.kernel("sim_store_u32");
  kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = 1;
  kernel.blockDimX = 32, kernel.blockDimY = kernel.blockDimZ = 1;
  kernel.kernelParams = parameters;
  return kernel;
}

static CUgraph storing(const Driver& driver, CUdeviceptr memory) {
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  void* parameters[] = {&memory, &value};
  const CUDA_KERNEL_NODE_PARAMS kernel = store(driver, parameters);
  CHECK(cuGraphCreate(&graph, 0));
  CHECK(cuGraphAddKernelNode(&node, graph, nullptr, 0, &kernel));  // MADE LINE child
  return graph;
}

int main(int, char** argv) {
  const auto is = [argv](const char* name) { return std::strcmp(argv[1], name) == 0; };
  Driver driver;
  CUstream stream = driver.stream();
  CUdeviceptr from = driver.allocate(64), memory = driver.allocate(64), freed = 0;
  CHECK(cuMemAlloc(&freed, 64));  // ALLOCATED LINE later
  void* parameters[] = {&memory, &value};
  CUDA_KERNEL_NODE_PARAMS kernel = store(driver, parameters);
  CUDA_MEMSET_NODE_PARAMS clear = {memory, 0, 0, 1, 64, 1};
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec exec = nullptr;
  if (is("copy")) {
    size_t count = 1;
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    CHECK(cuMemcpyDtoDAsync(memory, from, 64, stream));  // MADE LINE copy
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphGetNodes(graph, &node, &count));
  } else {
    CHECK(cuGraphCreate(&graph, 0));
  }
  if (is("kernel")) CHECK(cuGraphAddKernelNode(&node, graph, nullptr, 0, &kernel));                 // MADE LINE kernel
  if (is("later")) CHECK(cuGraphAddKernelNode(&node, graph, nullptr, 0, &kernel));                  // MADE LINE later
  if (is("memset")) CHECK(cuGraphAddMemsetNode(&node, graph, nullptr, 0, &clear, driver.context));  // MADE LINE memset
  if (is("child")) CHECK(cuGraphAddChildGraphNode(&node, graph, nullptr, 0, storing(driver, memory)));
  CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  CHECK(cuGraphLaunch(exec, stream));
  CHECK(cuStreamSynchronize(stream));
  if (!is("later")) CHECK(cuMemFree(freed));
  parameters[0] = &freed;
  clear.dst = freed;
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from, copy.dstDevice = freed;
  copy.WidthInBytes = 64, copy.Height = copy.Depth = 1;
  if (is("kernel")) CHECK(cuGraphExecKernelNodeSetParams(exec, node, &kernel));                    // TRUE LINE kernel
  if (is("later")) CHECK(cuGraphExecKernelNodeSetParams(exec, node, &kernel));                     // TRUE LINE later
  if (is("memset")) CHECK(cuGraphExecMemsetNodeSetParams(exec, node, &clear, driver.context));     // TRUE LINE memset
  if (is("copy")) CHECK(cuGraphExecMemcpyNodeSetParams(exec, node, &copy, driver.context));        // TRUE LINE copy
  if (is("child")) CHECK(cuGraphExecChildGraphNodeSetParams(exec, node, storing(driver, freed)));  // TRUE LINE child
  if (is("later")) CHECK(cuMemFree(freed));                                                        // FREED LINE later
  CHECK(cuGraphLaunch(exec, stream));                                                              // REPLAY LINE
  CHECK(cuStreamSynchronize(stream));                                                              // REPORTED LINE
  std::puts("done");
}
