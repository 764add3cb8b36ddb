// A first context works and is reset; then a second one fails, perhaps at the same addresses.
#include <cstdio>

__global__ void fill(int* p) { p[threadIdx.x] = 1; }
__global__ void far_store(int* p) { p[threadIdx.x + (1ull << 40)] = 1; }

int main() {
  int* p;
  cudaMalloc(&p, 4096);
  for (int i = 0; i < 20; i++) fill<<<1, 32>>>(p);
  cudaDeviceSynchronize();
  cudaDeviceReset();
  cudaMalloc(&p, 4096);
  for (int i = 0; i < 5; i++) fill<<<1, 32>>>(p);
  far_store<<<1, 32>>>(p);  // TRUE LINE
  fill<<<1, 32>>>(p);
  cudaError_t e = cudaDeviceSynchronize();  // BLAMED
  printf("%s\n", cudaGetErrorName(e));
  return e != cudaSuccess;
}
