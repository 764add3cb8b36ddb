// The branches of a captured graph work on two halves of one buffer and join.
// No public report.
#include "../bounded.cuh"

__global__ void scale(float* values, int count, float by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] *= by;
}

int main() {
  const int half = 5000;
  float* values = on_device<float>(2 * half);
  cudaStream_t main_stream = new_stream(), branch = new_stream();
  cudaEvent_t fork = new_event(), join = new_event();
  cudaGraph_t graph;
  cudaGraphExec_t replay;
  cudaStreamBeginCapture(main_stream, cudaStreamCaptureModeGlobal);
  cudaEventRecord(fork, main_stream);
  cudaStreamWaitEvent(branch, fork);
  scale<<<20, 256, 0, main_stream>>>(values, half, 2);
  scale<<<20, 256, 0, branch>>>(values + half, half, 3);
  cudaEventRecord(join, branch);
  cudaStreamWaitEvent(main_stream, join);
  scale<<<40, 256, 0, main_stream>>>(values, 2 * half, 0.5F);
  cudaStreamEndCapture(main_stream, &graph);
  cudaGraphInstantiate(&replay, graph, 0);
  for (int k = 0; k < 3; ++k) cudaGraphLaunch(replay, main_stream);
  return finished();
}
