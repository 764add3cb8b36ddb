// A graph is built node by node: a kernel, then a copy. The host clears the end of the source while the kernel runs.
// Related: https://github.com/NVIDIA/cudf/issues/21680 (the source of a stream-ordered copy must not change)
#include <cstring>

#include "../bounded.cuh"

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const size_t bytes = 100'000, tail = 4000;
  char *source = pinned<char>(bytes), *device = on_device<char>(bytes);
  cudaGraph_t graph;
  cudaGraphExec_t replay;
  cudaGraphNode_t kernel, copy;
  cudaGraphCreate(&graph, 0);
  long long most = ticks(0.2);
  void* arguments[] = {&most};
  cudaKernelNodeParams parameters{};
  parameters.func = reinterpret_cast<void*>(busy);
  parameters.gridDim = parameters.blockDim = dim3(1);
  parameters.kernelParams = arguments;
  cudaGraphAddKernelNode(&kernel, graph, nullptr, 0, &parameters);
  cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, device, source, bytes, cudaMemcpyHostToDevice);  // CAPTURE
  cudaGraphInstantiate(&replay, graph, 0);
  cudaStream_t stream = new_stream();
  cudaGraphLaunch(replay, stream);  // REPLAY
  if (corrected) cudaStreamSynchronize(stream);
  memset(source + bytes - tail, 0, tail);  // HOST
  return finished();
}
