// A kernel reads host memory that is pinned and mapped, through the pointer of the device. The program succeeds.
#include <cstdlib>

__global__ void sum(const int* values, int n, int* out) {
  int mine = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) mine += values[i];
  atomicAdd(out, mine);
}

int main() {
  const int n = 1 << 20;
  int *host = static_cast<int*>(aligned_alloc(4096, n * sizeof(int))), *on_device, *out, result = 0;
  for (int i = 0; i < n; i++) host[i] = 1;
  if (cudaHostRegister(host, n * sizeof(int), cudaHostRegisterMapped) != cudaSuccess) return 77;
  cudaHostGetDevicePointer(&on_device, host, 0);
  cudaMalloc(&out, sizeof(int));
  cudaMemset(out, 0, sizeof(int));
  sum<<<1, 256>>>(on_device, n, out);
  cudaMemcpy(&result, out, sizeof result, cudaMemcpyDeviceToHost);
  cudaHostUnregister(host);
  free(host);
  return result != n;
}
