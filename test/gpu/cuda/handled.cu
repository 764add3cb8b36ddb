// Correct use of CUDA, however the program ends: ./handled out_of_memory|probing|exit_three|abort
#include <cstdio>
#include <cstdlib>
#include <string>

__global__ void fill(int* p) { p[threadIdx.x] = 42; }

const char* outcome(cudaError_t e) {
  cudaGetLastError();
  return e == cudaSuccess ? "yes" : "no";
}

int main(int, char** argv) {
  std::string how = argv[1];
  int *p = nullptr, on_stack = 0;
  if (how == "out_of_memory")
    for (size_t size = 1ull << 50; size >= 4096; size >>= 10) {
      bool got = cudaMalloc(&p, size) == cudaSuccess;
      printf("%zu bytes: %s\n", size, got ? "yes" : outcome(cudaGetLastError()));
      if (got) cudaFree(p);
    }
  cudaMalloc(&p, 4096);
  if (how == "probing") {
    cudaPointerAttributes attributes;
    void* device = nullptr;
    printf("attributes: %s\n", outcome(cudaPointerGetAttributes(&attributes, &on_stack)));
    printf("pinned: %s\n", outcome(cudaHostGetDevicePointer(&device, &on_stack, 0)));
    printf("unregistered: %s\n", outcome(cudaHostUnregister(&on_stack)));
    printf("peer of itself: %s\n", outcome(cudaDeviceEnablePeerAccess(0, 0)));
    printf("device 99: %s\n", outcome(cudaSetDevice(99)));
    printf("stream idle: %s\n", (cudaDeviceSynchronize(), outcome(cudaStreamQuery(nullptr))));
  }
  fill<<<1, 32>>>(p);
  cudaMemcpy(&on_stack, p, sizeof on_stack, cudaMemcpyDeviceToHost);
  printf("result %d: %s\n", on_stack, cudaGetErrorName(cudaGetLastError()));
  fflush(stdout);
  if (how == "abort") abort();
  return how == "exit_three" ? 3 : 0;
}
