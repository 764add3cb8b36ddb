// A scan whose blocks take tickets and all publish their sum, even those without elements.
// Pattern: https://github.com/llnl/RAJAPerf/issues/375
#include "../bounded.cuh"

__global__ void scan(const int* counts, int* ticket, int* published, int* sums, long long most) {
  const int block = atomicAdd(ticket, 1);
  int before = 0;
  if (block > 0) {
    appears(&published[block - 1], 1, most);
    before = atomicAdd(&sums[block - 1], 0);
  }
  atomicExch(&sums[block], before + counts[block]);
  __threadfence();
  atomicExch(&published[block], 1);
}

int main() {
  const int blocks = 400;
  int *counts = on_device<int>(blocks), *ticket = on_device<int>(1), *published = on_device<int>(blocks);
  scan<<<blocks, 1, 0, new_stream()>>>(counts, ticket, published, on_device<int>(blocks), ticks(8));
  return finished();
}
