// Work forks from one stream into three and joins again, in a loop.
// No public report.
#include "../bounded.cuh"

__global__ void add(float* values, int count, float what) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] += what;
}

int main() {
  const int third = 3000;
  float* values = on_device<float>(3 * third);
  cudaStream_t trunk = new_stream(), branches[3] = {new_stream(), new_stream(), new_stream()};
  cudaEvent_t fork = new_event(), joins[3] = {new_event(), new_event(), new_event()};
  for (int step = 0; step < 5; ++step) {
    add<<<36, 256, 0, trunk>>>(values, 3 * third, 1);
    cudaEventRecord(fork, trunk);
    for (int k = 0; k < 3; ++k) {
      cudaStreamWaitEvent(branches[k], fork);
      add<<<12, 256, 0, branches[k]>>>(values + k * third, third, 2);
      cudaEventRecord(joins[k], branches[k]);
      cudaStreamWaitEvent(trunk, joins[k]);
    }
  }
  return finished();
}
