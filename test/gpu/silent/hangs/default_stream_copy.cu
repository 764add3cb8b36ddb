// The host reads a kernel's progress by a plain cudaMemcpy, which waits for the kernel; the kernel waits for the host.
// Related: https://github.com/meta-pytorch/torchcomms/pull/2334 (a copy that would stop a persistent kernel waits for it)
#include "../bounded.cuh"

__global__ void persist(int* progress, const int* stop, int value, long long most) {
  atomicAdd(progress, 1);
  appears(stop, value, most);  // SPINS
}

int main() {
  int seen = 0, *stop, *progress = on_device<int>(1);
  cudaHostAlloc(&stop, sizeof *stop, cudaHostAllocMapped);
  *stop = 0;
  cudaStream_t blocking;  // waits for the default stream, and the default stream waits for it
  cudaStreamCreate(&blocking);
  persist<<<1, 1, 0, blocking>>>(progress, stop, 0, ticks(1));
  cudaDeviceSynchronize();
  persist<<<1, 1, 0, blocking>>>(progress, stop, 1, ticks(8));       // STUCK
  cudaMemcpy(&seen, progress, sizeof seen, cudaMemcpyDeviceToHost);  // WAITS
  *static_cast<volatile int*>(stop) = seen > 0;
  return finished();
}
