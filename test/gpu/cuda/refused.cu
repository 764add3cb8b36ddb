// Requests that CUDA rejects at once: ./refused KIND. Checked requests end with status 1 or an exception, unchecked
// requests with a wrong result.
#include <cstdio>
#include <stdexcept>
#include <string>

__global__ void fill(int* p) { p[threadIdx.x] = 1; }

int check(const char* what, cudaError_t e) {
  printf("%s: %s\n", what, e == cudaSuccess ? "went well" : "refused");
  return e != cudaSuccess;
}

int main(int, char** argv) {
  std::string kind = argv[1];
  int *p, *freed, host = 0;
  cudaMalloc(&p, 1 << 20);
  cudaMemset(p, 0, 1 << 20);
  cudaMalloc(&freed, 64 << 20);
  cudaFree(freed);
  if (kind == "unchecked_block") fill<<<1, 2048>>>(p);  // TRUE LINE unchecked_block
  if (kind == "block") {
    fill<<<1, 2048>>>(p);  // TRUE LINE block
    return check("2048 threads", cudaGetLastError());
  }
  if (kind == "shared") {
    fill<<<1, 32, 1 << 20>>>(p);  // TRUE LINE shared
    return check("a megabyte of shared memory", cudaGetLastError());
  }
  if (kind == "device") {
    cudaError_t e = cudaSetDevice(99);  // TRUE LINE device
    return check("device 99", e);
  }
  if (kind == "thrown") {
    fill<<<1, 2048>>>(p);  // TRUE LINE thrown
    if (cudaError_t e = cudaGetLastError()) throw std::runtime_error(cudaGetErrorString(e));
  }
  if (kind == "copy") {
    cudaError_t e = cudaMemcpyAsync(p, freed, 4096, cudaMemcpyDeviceToDevice);  // TRUE LINE copy
    return check("copy from freed memory", e ? e : cudaDeviceSynchronize());    // BLAMED copy
  }
  if (kind == "freed") {
    cudaError_t e = cudaMemcpy(&host, freed, sizeof host, cudaMemcpyDeviceToHost);  // TRUE LINE freed
    return check("copy of freed memory to the host", e);
  }
  if (kind == "exchanged") {
    cudaError_t e = cudaMemcpy(&host, p, sizeof host, cudaMemcpyHostToDevice);  // TRUE LINE exchanged
    return check("copy the wrong way", e);
  }
  if (kind == "nothing") {
    int* huge = nullptr;
    cudaMalloc(&huge, size_t{1} << 50);
    cudaError_t e = cudaMemcpy(huge, &host, sizeof host, cudaMemcpyHostToDevice);  // TRUE LINE nothing
    return check("copy to what could not be allocated", e);
  }
  if (kind == "late_copy") {
    static int rows[16 << 20];
    cudaMemcpyAsync(p, rows, sizeof rows, cudaMemcpyHostToDevice);  // TRUE LINE late_copy
    fill<<<1, 32>>>(p);
    return check("32 threads", cudaGetLastError());  // BLAMED late_copy
  }
  if (kind == "late_launch") {
    for (int i = 0; i < 20; ++i) fill<<<1, 2048>>>(p);  // TRUE LINE late_launch
    fill<<<1, 32>>>(p);
    return check("32 threads", cudaGetLastError());  // BLAMED late_launch
  }
  if (kind == "memset") {
    cudaError_t e = cudaMemset(freed, 0, 4096);                               // TRUE LINE memset
    return check("memset of freed memory", e ? e : cudaDeviceSynchronize());  // BLAMED memset
  }
  cudaMemcpy(&host, p, sizeof host, cudaMemcpyDeviceToHost);
  printf("result %d\n", host);
}
