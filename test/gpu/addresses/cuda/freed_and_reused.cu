// The stale pointer is harmless, because its address was allocated again; a wrong slot causes the failure.
#include "needs.cuh"

__global__ void put(int* slots, long long slot, int value) { slots[slot] = value; }  // ACCESS

int main() {
  int *first, *second;
  cudaMalloc(&first, 256 << 20);
  put<<<1, 1>>>(first, 0, 1);
  put<<<1, 1>>>(first, 1, 1);
  cudaDeviceSynchronize();
  cudaFree(first);
  cudaMalloc(&second, 256 << 20);  // ALLOC
  needs_same_address(first, second);
  put<<<1, 1>>>(first, 2, 1);
  put<<<1, 1>>>(first, 3LL << 30, 1);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
