// An address is stored in 32 bits and converted back to a pointer.
#include <cstdint>

__global__ void fill(int* p, int value) { p[threadIdx.x] = value; }  // ACCESS

struct Entry {
  uint32_t address, size;
};

int main() {
  int* p;
  cudaMalloc(&p, 64 << 20);
  fill<<<1, 32>>>(p, 0);
  Entry entry{uint32_t(reinterpret_cast<uintptr_t>(p)), 64 << 20};
  fill<<<1, 32>>>(reinterpret_cast<int*>(uintptr_t(entry.address)), 1);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
