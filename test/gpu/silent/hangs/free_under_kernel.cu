// The host sets a kernel's flag only after a cudaFree, which waits for the kernel.
// Report: https://github.com/NVIDIA/nccl/issues/48 and https://github.com/ml-explore/mlx/issues/2099
#include "../bounded.cuh"

__global__ void persist(const int* stop, int value, long long most) { appears(stop, value, most); }  // SPINS

int main() {
  int *stop, *scratch = on_device<int>(1 << 20);
  cudaHostAlloc(&stop, sizeof *stop, cudaHostAllocMapped);
  *stop = 0;
  cudaStream_t stream = new_stream();
  persist<<<1, 1, 0, stream>>>(stop, 0, ticks(1));
  cudaDeviceSynchronize();
  persist<<<1, 1, 0, stream>>>(stop, 1, ticks(8));  // STUCK
  cudaFree(scratch);                                // WAITS
  *static_cast<volatile int*>(stop) = 1;
  return finished();
}
