// A graph's kernel gets a different buffer between replays; meanwhile the old one is used elsewhere.
// No public report.
#include "../bounded.cuh"

__global__ void fill(int* values, int count, int what) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] = what;
}

int main() {
  int count = 8000, what = 1;
  int* buffers[2] = {on_device<int>(count), on_device<int>(count)};
  void* arguments[] = {&buffers[0], &count, &what};
  cudaKernelNodeParams parameters{};
  parameters.func = reinterpret_cast<void*>(fill);
  parameters.gridDim = dim3(32);
  parameters.blockDim = dim3(256);
  parameters.kernelParams = arguments;
  cudaGraph_t graph;
  cudaGraphNode_t node;
  cudaGraphExec_t replay;
  cudaGraphCreate(&graph, 0);
  cudaGraphAddKernelNode(&node, graph, nullptr, 0, &parameters);
  cudaGraphInstantiate(&replay, graph, 0);
  cudaStream_t replaying = new_stream(), other = new_stream();
  cudaGraphLaunch(replay, replaying);
  cudaStreamSynchronize(replaying);
  arguments[0] = &buffers[1];
  cudaGraphExecKernelNodeSetParams(replay, node, &parameters);
  cudaGraphLaunch(replay, replaying);
  fill<<<32, 256, 0, other>>>(buffers[0], count, 2);
  return finished();
}
