// A kernel without code for this GPU: ./no_image checked|unchecked
#include <cstdio>
#include <string>

__global__ void fill(int* p) { p[threadIdx.x] = 1; }

int main(int, char** argv) {
  int* p = nullptr;
  cudaMalloc(&p, 4096);
  if (std::string(argv[1]) == "unchecked") {
    fill<<<1, 32>>>(p);  // TRUE LINE unchecked
    return 0;
  }
  fill<<<1, 32>>>(p);  // TRUE LINE checked
  cudaError_t e = cudaGetLastError();
  printf("%s\n", cudaGetErrorName(e));
  return e != cudaSuccess;
}
