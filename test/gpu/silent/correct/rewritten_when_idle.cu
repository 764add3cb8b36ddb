// The host polls cudaStreamQuery and rewrites the mapped settings only when the stream is idle.
// No public report.
#include <thread>

#include "../bounded.cuh"

struct Settings {
  int count;
  float rate;
};

__global__ void descend(const Settings* settings, float* weights) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < settings->count) weights[i] -= settings->rate * weights[i];
}

int main() {
  Settings* settings;
  cudaHostAlloc(&settings, sizeof *settings, cudaHostAllocMapped);
  float* weights = on_device<float>(1024);
  cudaStream_t stream = new_stream();
  for (int step = 1; step < 6; ++step) {
    while (cudaStreamQuery(stream) == cudaErrorNotReady) std::this_thread::yield();
    *settings = {1000 + step, 0.5f / step};
    busy<<<1, 1, 0, stream>>>(ticks(0.01));
    descend<<<4, 256, 0, stream>>>(settings, weights);
  }
  return finished();
}
