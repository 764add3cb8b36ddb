// Each of two stages spins on the other's flag before it sets its own.
// Related: https://github.com/pytorch/pytorch/issues/172668 (stages of a pipeline that wait for each other)
#include "../bounded.cuh"

__global__ void stage(const int* mine, int* others, long long most) {
  if (appears(mine, 1, most)) atomicExch(others, 1);  // SPINS
}

int main() {
  int* flags = on_device<int>(4);
  cudaMemset(flags, 1, 1);
  cudaDeviceSynchronize();
  cudaStream_t one = new_stream(), other = new_stream();
  stage<<<1, 1, 0, one>>>(flags, flags + 1, ticks(8));
  stage<<<1, 1, 0, other>>>(flags + 1, flags, ticks(8));
  cudaDeviceSynchronize();
  stage<<<1, 1, 0, one>>>(flags + 2, flags + 3, ticks(8));    // STUCK
  stage<<<1, 1, 0, other>>>(flags + 3, flags + 2, ticks(8));  // STUCK
  cudaStreamSynchronize(one);                                 // WAITS
  cudaStreamSynchronize(other);                               // WAITS
  return finished();
}
