// One graph is replayed many times on one stream: each replay overwrites what the previous one wrote.
// No public report.
#include "../bounded.cuh"

__global__ void step(float* state, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) state[i] = state[i] * 0.5F + 1;
}

int main() {
  const int count = 10'000;
  float* state = on_device<float>(count);
  cudaStream_t stream = new_stream();
  cudaGraph_t graph;
  cudaGraphExec_t replay;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  for (int k = 0; k < 5; ++k) step<<<40, 256, 0, stream>>>(state, count);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&replay, graph, 0);
  for (int k = 0; k < 20; ++k) cudaGraphLaunch(replay, stream);
  return finished();
}
