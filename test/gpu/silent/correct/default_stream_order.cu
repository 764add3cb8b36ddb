// Two blocking streams are ordered by the default stream between them.
// Pattern: https://github.com/alpaka-group/alpaka/issues/850 (corrected)
#include "../bounded.cuh"

__global__ void add(int* values, int what) { values[blockIdx.x * blockDim.x + threadIdx.x] += what; }

int main() {
  int* values = on_device<int>(2048);
  cudaStream_t one, other;
  cudaStreamCreate(&one);
  cudaStreamCreate(&other);
  add<<<8, 256, 0, one>>>(values, 1);
  add<<<8, 256>>>(values, 2);
  add<<<8, 256, 0, other>>>(values, 3);
  return finished();
}
