// A kernel synchronizes its whole grid after a cooperative launch. The program succeeds.
#include <cooperative_groups.h>

__global__ void two_phases(float* x, float* out, int n) {
  auto grid = cooperative_groups::this_grid();
  for (int i = grid.thread_rank(); i < n; i += grid.size()) x[i] += 1;
  grid.sync();
  for (int i = grid.thread_rank(); i < n; i += grid.size()) out[i] = x[n - 1 - i];
}

int main() {
  int n = 1 << 20;
  float *x, *out, last = 0;
  cudaMalloc(&x, n * sizeof(float));
  cudaMalloc(&out, n * sizeof(float));
  cudaMemset(x, 0, n * sizeof(float));
  void* arguments[] = {&x, &out, &n};
  if (cudaLaunchCooperativeKernel(two_phases, 64, 256, arguments, 0, nullptr) != cudaSuccess) return 1;
  cudaMemcpy(&last, out + n - 1, sizeof last, cudaMemcpyDeviceToHost);
  return last != 1;
}
