// A cooperative kernel in which all blocks pass the grid's barrier the same number of times.
// Pattern: https://github.com/punica-ai/punica/pull/35 (corrected)
#include <cooperative_groups.h>

#include "../bounded.cuh"

__global__ void steps(int* values, int rounds) {
  const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
  for (int round = 0; round < rounds; ++round) {
    const int* from = values + round % 2 * grid.size();
    int* to = values + (round + 1) % 2 * grid.size();
    to[grid.thread_rank()] = from[(grid.thread_rank() + 1) % grid.size()] + round;
    grid.sync();
  }
}

int main() {
  int* values = on_device<int>(2 * 16 * 128);
  int rounds = 10;
  void* arguments[] = {&values, &rounds};
  cudaLaunchCooperativeKernel(reinterpret_cast<void*>(steps), dim3(16), dim3(128), arguments, 0, new_stream());
  return finished();
}
