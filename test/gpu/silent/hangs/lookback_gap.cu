// A scan whose blocks look back at the previous one; a block without elements returns without publishing its sum.
// Related: https://github.com/llnl/RAJAPerf/issues/375
#include "../bounded.cuh"

__global__ void scan(const int* counts, int* published, int* sums, long long most) {
  const int block = blockIdx.x;
  if (counts[block] == 0) return;  // the mistake
  int before = 0;
  if (block > 0) {
    if (!appears(&published[block - 1], 1, most)) return;  // SPINS
    before = sums[block - 1];
  }
  sums[block] = before + counts[block];
  __threadfence();
  atomicExch(&published[block], 1);
}

int main() {
  const int full[6] = {1, 2, 3, 4, 5, 6}, gap[6] = {1, 2, 0, 4, 5, 6};
  int *counts = on_device<int>(6), *published = on_device<int>(12), *sums = on_device<int>(6);
  cudaMemcpy(counts, full, sizeof full, cudaMemcpyHostToDevice);
  scan<<<6, 1>>>(counts, published, sums, ticks(3));
  cudaMemcpy(counts, gap, sizeof gap, cudaMemcpyHostToDevice);
  scan<<<6, 1>>>(counts, published + 6, sums, ticks(8));  // STUCK
  cudaMemcpy(sums, counts, sizeof gap, cudaMemcpyDeviceToDevice);
  cudaDeviceSynchronize();  // WAITS
  return finished();
}
