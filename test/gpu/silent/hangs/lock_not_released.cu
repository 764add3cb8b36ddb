// A kernel returns early without releasing a lock on the device; the next one spins on it.
// Related: https://github.com/kokkos/kokkos/issues/4377 and https://github.com/xlite-dev/LeetCUDA/issues/391
#include "../bounded.cuh"

__global__ void add_under_lock(int* lock, int* sum, int what, long long most) {
  for (long long start = clock64(); atomicCAS(lock, 0, 1) != 0;) {  // SPINS
    if (clock64() - start > most) return;                           // SPINS
  }
  *sum += what;
  if (what < 0) return;  // the mistake: the lock stays locked
  __threadfence();
  atomicExch(lock, 0);
}

int main() {
  int *lock = on_device<int>(1), *sum = on_device<int>(1);
  cudaStream_t stream = new_stream();
  for (int what : {3, 4, -1}) add_under_lock<<<1, 1, 0, stream>>>(lock, sum, what, ticks(8));
  cudaStreamSynchronize(stream);
  add_under_lock<<<1, 1, 0, stream>>>(lock, sum, 5, ticks(8));  // STUCK
  cudaMemcpyAsync(sum, lock, sizeof *sum, cudaMemcpyDefault, stream);
  cudaStreamSynchronize(stream);  // WAITS
  return finished();
}
