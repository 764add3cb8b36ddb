// The host fills the upper half of a pinned buffer, up to the edge, while the lower one is copied.
// Pattern: https://github.com/karpathy/llm.c/pull/556
#include "../bounded.cuh"

int main() {
  const int half = 25'000;
  double *buffer = pinned<double>(2 * half), *device = on_device<double>(2 * half);
  cudaStream_t stream = new_stream();
  busy<<<1, 1, 0, stream>>>(ticks(0.1));
  cudaMemcpyAsync(device, buffer, half * sizeof(double), cudaMemcpyHostToDevice, stream);
  for (int i = half; i < 2 * half; ++i) buffer[i] = 0.25 * i;
  cudaMemcpyAsync(device + half, buffer + half, half * sizeof(double), cudaMemcpyHostToDevice, stream);
  return finished();
}
