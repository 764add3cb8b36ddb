// Blocks take a lock before they change a pair of words by plain loads and stores.
// No public report.
#include "../bounded.cuh"

__global__ void extend(const int* values, int* lock, volatile int* range) {
  if (threadIdx.x != 0) return;
  const int value = values[blockIdx.x];
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  __threadfence();
  if (value < range[0]) range[0] = value;
  if (value > range[1]) range[1] = value;
  __threadfence();
  atomicExch(lock, 0);
}

int main() {
  int *values = numbered<int>(200), *lock = on_device<int>(1), *range = on_device<int>(2);
  extend<<<200, 32>>>(values, lock, range);
  return finished();
}
