// Two streams count into the same bins, all by atomic additions.
// Pattern: https://github.com/ORNL/HeCBench (histogram-cuda)
#include "../bounded.cuh"

__global__ void count_bytes(const unsigned char* data, int count, unsigned* bins) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) atomicAdd(&bins[data[i]], 1);
}

int main() {
  const int half = 20'000;
  unsigned char* data = on_device<unsigned char>(2 * half);
  unsigned* bins = on_device<unsigned>(256);
  count_bytes<<<(half + 255) / 256, 256, 0, new_stream()>>>(data, half, bins);
  count_bytes<<<(half + 255) / 256, 256, 0, new_stream()>>>(data + half, half, bins);
  return finished();
}
