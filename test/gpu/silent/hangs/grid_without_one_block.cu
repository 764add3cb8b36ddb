// A cooperative kernel: one block does not come to the grid's barrier. It comes after 8 s, so that the program ends.
// No public report.
#include <cooperative_groups.h>

#include "../bounded.cuh"

__global__ void relax(float* cells, int absent, long long most) {
  if (blockIdx.x == absent) {
    for (long long start = clock64(); clock64() - start < most;) {
    }
  }
  cells[blockIdx.x * blockDim.x + threadIdx.x] += 1;
  cooperative_groups::this_grid().sync();  // SPINS
}

int main() {
  float* cells = on_device<float>(4 * 64);
  cudaStream_t stream = new_stream();
  int absent = -1;
  long long most = ticks(8);
  void* arguments[] = {&cells, &absent, &most};
  const void* kernel = reinterpret_cast<const void*>(relax);
  cudaLaunchCooperativeKernel(kernel, dim3(4), dim3(64), arguments, 0, stream);
  cudaStreamSynchronize(stream);
  absent = 3;
  cudaLaunchCooperativeKernel(kernel, dim3(4), dim3(64), arguments, 0, stream);  // STUCK
  cudaStreamSynchronize(stream);                                                 // WAITS
  return finished();
}
