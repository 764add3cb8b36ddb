// A cooperative kernel smooths a field between two buffers. Blocks read each other's edges after the grid's barrier.
// Pattern: https://github.com/numba/numba/issues/7502
#include <cooperative_groups.h>

#include "../bounded.cuh"

__global__ void smooth(double* one, double* other, int count, int steps) {
  const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
  const int i = static_cast<int>(grid.thread_rank());
  for (int step = 0; step < steps; ++step) {
    const double* from = step % 2 == 0 ? one : other;
    double* to = step % 2 == 0 ? other : one;
    if (i > 0 && i < count - 1) to[i] = (from[i - 1] + from[i] + from[i + 1]) / 3;
    grid.sync();
  }
}

int main() {
  int count = 64 * 128, steps = 6;
  double *one = numbered<double>(count), *other = on_device<double>(count);
  void* arguments[] = {&one, &other, &count, &steps};
  cudaLaunchCooperativeKernel(reinterpret_cast<void*>(smooth), dim3(64), dim3(128), arguments, 0, new_stream());
  return finished();
}
