// The kernel works on whole vectors of four. The allocation is rounded up for that, and its neighbour in the arena
// begins later.
// No public report.
#include "../bounded.cuh"

__global__ void scale(float4* vectors, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < (count + 3) / 4) vectors[i].x *= 2;
}

int main() {
  const int count = 1001, padded = (count + 3) / 4 * 4;
  float* arena = on_device<float>(2 * padded);
  scale<<<1, 256, 0, new_stream()>>>(reinterpret_cast<float4*>(arena), count);
  scale<<<1, 256, 0, new_stream()>>>(reinterpret_cast<float4*>(arena + padded), count);
  return finished();
}
