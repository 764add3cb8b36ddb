// Each of two streams takes half of one buffer; the length of the first half is rounded up instead of down.
// Pattern: https://developer.nvidia.com/blog/how-overlap-data-transfers-cuda-cc/
#include "../bounded.cuh"

__global__ void scale(float* values, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] *= 2;
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int n = 100'000, half = n / 2;
  float* values = on_device<float>(n);
  cudaStream_t left = new_stream(), right = new_stream();
  const int first = corrected ? half : half + 1;
  scale<<<(first + 255) / 256, 256, 0, left>>>(values, first);            // FIRST
  scale<<<(half + 255) / 256, 256, 0, right>>>(values + half, n - half);  // SECOND
  return finished();
}
