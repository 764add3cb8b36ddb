// A block scans its part of an array in place, in global memory, with a barrier after each read and after each write.
// Pattern: https://github.com/CHIP-SPV/chipStar/pull/1334
#include "../bounded.cuh"

__global__ void scan(int* values) {
  int* mine = values + blockIdx.x * blockDim.x;
  for (int distance = 1; distance < blockDim.x; distance *= 2) {
    const int before = threadIdx.x >= distance ? mine[threadIdx.x - distance] : 0;
    __syncthreads();
    mine[threadIdx.x] += before;
    __syncthreads();
  }
}

int main() {
  int* values = numbered<int>(40 * 256);
  scan<<<40, 256>>>(values);
  return finished();
}
