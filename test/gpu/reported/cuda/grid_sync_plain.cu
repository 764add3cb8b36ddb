// A kernel that synchronizes its whole grid is launched like any other kernel.
#include <cooperative_groups.h>

__global__ void two_phases(float* x, float* out, int n) {
  auto grid = cooperative_groups::this_grid();
  for (int i = grid.thread_rank(); i < n; i += grid.size()) x[i] += 1;
  grid.sync();
  for (int i = grid.thread_rank(); i < n; i += grid.size()) out[i] = x[n - 1 - i];
}

int main() {
  const int n = 1 << 20;
  float *x, *out;
  cudaMalloc(&x, n * sizeof(float));
  cudaMalloc(&out, n * sizeof(float));
  cudaMemset(x, 0, n * sizeof(float));
  two_phases<<<64, 256>>>(x, out, n);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
