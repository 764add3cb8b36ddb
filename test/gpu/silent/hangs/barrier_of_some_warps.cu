// A barrier counts all threads of the block, but the last warp takes another branch. It comes to the barrier only after
// 8 s.
// No public report.
#include "../bounded.cuh"

__global__ void exchange(int* values, int members, long long most) {
  if (threadIdx.x < members) {
    asm volatile("bar.sync 1, 128;" ::: "memory");  // SPINS
    values[threadIdx.x] += 1;
  } else {
    for (long long start = clock64(); clock64() - start < most;) {
    }
    asm volatile("bar.arrive 1, 128;" ::: "memory");
  }
}

int main() {
  int* values = on_device<int>(128);
  cudaStream_t stream = new_stream();
  exchange<<<1, 128, 0, stream>>>(values, 128, ticks(8));
  cudaStreamSynchronize(stream);
  exchange<<<1, 128, 0, stream>>>(values, 96, ticks(8));  // STUCK
  cudaStreamSynchronize(stream);                          // WAITS
  return finished();
}
