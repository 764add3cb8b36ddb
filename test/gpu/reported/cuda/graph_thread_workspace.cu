// A worker thread captures a graph that uses the workspace of the thread; it is replayed after the thread has ended.
#include <thread>

struct Workspace {
  float* data = nullptr;
  Workspace() { cudaMalloc(&data, 64 << 20); }  // ALLOC
  ~Workspace() { cudaFree(data); }              // FREED
};

float* workspace() {
  thread_local Workspace own;
  return own.data;
}

__global__ void accumulate(float* partial, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) partial[i] += 1;  // ACCESS
}

cudaGraphExec_t capture(cudaStream_t stream) {
  float* partial = workspace();
  cudaGraph_t graph;
  cudaGraphExec_t exec = nullptr;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  accumulate<<<256, 256, 0, stream>>>(partial, 16 << 20);  // LAUNCH
  cudaStreamEndCapture(stream, &graph);
  if (cudaGraphInstantiate(&exec, graph, 0) != cudaSuccess) return nullptr;
  cudaGraphLaunch(exec, stream);
  return cudaStreamSynchronize(stream) == cudaSuccess ? exec : nullptr;
}

int main() {
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaGraphExec_t exec = nullptr;
  std::thread worker([&] { exec = capture(stream); });
  worker.join();
  if (!exec) return 77;
  cudaGraphLaunch(exec, stream);  // LAUNCH
  return cudaStreamSynchronize(stream) != cudaSuccess;
}
