// All warps of all blocks add to one sum, each by one atomic operation after a reduction in the warp.
// No public report.
#include "../bounded.cuh"

__global__ void sum(const float* values, int count, float* total) {
  float mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) mine += values[i];
  for (int lanes = 16; lanes > 0; lanes /= 2) mine += __shfl_down_sync(0xffffffff, mine, lanes);
  if (threadIdx.x % 32 == 0) atomicAdd(total, mine);
}

int main() {
  const int count = 100'000;
  float *values = numbered<float>(count), *total = on_device<float>(1);
  sum<<<32, 256>>>(values, count, total);
  return finished();
}
