// The GPU's work has long finished: the host computes for six seconds before it synchronises.
// No public report.
#include <chrono>

#include "../bounded.cuh"

__global__ void add(int* values, int what) { values[threadIdx.x] += what; }

int main() {
  int* values = on_device<int>(256);
  cudaStream_t stream = new_stream();
  for (int step = 0; step < 20; ++step) add<<<1, 256, 0, stream>>>(values, step);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(6);
  unsigned long long steps = 0;
  while (std::chrono::steady_clock::now() < end) ++steps;
  printf("%s\n", steps > 0 ? "computed" : "");
  cudaStreamSynchronize(stream);
  return finished();
}
