// Host memory for a cache is pinned by the pool and again by its user.
#include <cstdio>
#include <cstdlib>

bool pin(void* memory, size_t bytes) {
  cudaError_t error = cudaHostRegister(memory, bytes, cudaHostRegisterDefault);  // LAUNCH
  if (error != cudaSuccess) fprintf(stderr, "pin: %s\n", cudaGetErrorString(error));
  return error == cudaSuccess;
}

int main() {
  const size_t bytes = 16 << 20;
  void* cache = aligned_alloc(4096, bytes);
  if (!pin(cache, bytes)) return 77;
  return pin(cache, bytes) ? 0 : 1;
}
