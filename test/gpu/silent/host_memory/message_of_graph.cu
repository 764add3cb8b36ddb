// A function makes a graph that copies a text to the GPU. The graph is right inside the function and wrong after it.
// Report: https://github.com/NVIDIA/cuda-python/issues/166
#include <cstring>

#include "../bounded.cuh"

static const size_t size = 48;
static char kept[size];

__global__ void count_letters(const char* text, int* letters) {
  if (text[threadIdx.x] >= 'a' && text[threadIdx.x] <= 'z') atomicAdd(letters, 1);
}

static __attribute__((noinline)) cudaGraphExec_t make(char* on_gpu, int* letters, cudaStream_t stream, bool corrected) {
  char message[size];
  snprintf(message, size, "message for step %d of the graph", 3);
  if (corrected) memcpy(kept, message, size);
  cudaGraph_t graph;
  cudaGraphExec_t replay;
  cudaGraphNode_t copy, kernel;
  cudaGraphCreate(&graph, 0);
  const char* source = corrected ? kept : message;
  cudaGraphAddMemcpyNode1D(&copy, graph, nullptr, 0, on_gpu, source, size, cudaMemcpyHostToDevice);  // CAPTURE
  void* arguments[] = {&on_gpu, &letters};
  cudaKernelNodeParams parameters{};
  parameters.func = reinterpret_cast<void*>(count_letters);
  parameters.gridDim = dim3(1);
  parameters.blockDim = dim3(size);
  parameters.kernelParams = arguments;
  cudaGraphAddKernelNode(&kernel, graph, &copy, 1, &parameters);
  cudaGraphInstantiate(&replay, graph, 0);
  cudaGraphLaunch(replay, stream);
  cudaStreamSynchronize(stream);
  return replay;
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  char* on_gpu = on_device<char>(size);
  int* letters = on_device<int>(1);
  cudaStream_t stream = new_stream();
  cudaGraphExec_t again = make(on_gpu, letters, stream, corrected);
  cudaGraphLaunch(again, stream);  // REPLAY
  return finished();
}
