// The third of ten kernels reads a terabyte past its buffer; the copy after them returns the error.
#include <cstdio>

__global__ void fill(int* p, int v) { p[threadIdx.x] = v; }
__global__ void far_load(int* p) { p[0] = p[threadIdx.x + (1ull << 38)]; }

int main() {
  int *p, host = 0;
  cudaMalloc(&p, 4096);
  fill<<<1, 32>>>(p, 1);
  fill<<<1, 32>>>(p, 2);
  far_load<<<1, 32>>>(p);  // TRUE LINE
  for (int i = 4; i <= 10; i++) fill<<<1, 32>>>(p, i);
  cudaError_t e = cudaMemcpy(&host, p, sizeof host, cudaMemcpyDeviceToHost);  // BLAMED
  printf("%s\n", cudaGetErrorName(e));
  return e != cudaSuccess;
}
