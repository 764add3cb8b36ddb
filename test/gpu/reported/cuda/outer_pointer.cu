// A list keeps addresses of pointers, and the outer pointer is unregistered instead of the memory.
#include <cstdlib>
#include <vector>

int main() {
  const size_t bytes = 16 << 20;
  void* data[4];
  std::vector<void**> registered;
  for (void*& each : data) {
    each = aligned_alloc(4096, bytes);
    if (cudaHostRegister(each, bytes, cudaHostRegisterDefault) != cudaSuccess) return 77;
    registered.push_back(&each);
  }
  void* copy;
  cudaMalloc(&copy, bytes);
  for (void** each : registered) cudaMemcpyAsync(copy, *each, bytes, cudaMemcpyHostToDevice);
  if (cudaDeviceSynchronize() != cudaSuccess) return 77;
  for (void** each : registered) {
    if (cudaHostUnregister(each) != cudaSuccess) return 1;  // LAUNCH
  }
  return 0;
}
