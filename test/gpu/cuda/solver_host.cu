// The kernel is launched two calls deep in a statically linked library.
#include <cstdio>

void solve(int* p);

int main() {
  int* p;
  cudaMalloc(&p, 4096);
  solve(p);
  cudaError_t e = cudaDeviceSynchronize();  // BLAMED
  printf("%s\n", cudaGetErrorName(e));
  return e != cudaSuccess;
}
