// Every launch before number 1,000,000 is correct.
#include <cstdio>

__global__ void count(int* p) { p[threadIdx.x]++; }
__global__ void far_store(int* p) { p[threadIdx.x + (1ull << 40)] = 1; }

int main() {
  int* p;
  cudaMalloc(&p, 4096);
  for (int i = 1; i < 1000000; i++) count<<<1, 32>>>(p);
  far_store<<<1, 32>>>(p);  // TRUE LINE
  for (int i = 0; i < 10; i++) count<<<1, 32>>>(p);
  cudaError_t e = cudaDeviceSynchronize();  // BLAMED
  printf("%s\n", cudaGetErrorName(e));
  return e != cudaSuccess;
}
