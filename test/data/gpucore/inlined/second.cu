#include "leaf.cuh"
__device__ __forceinline__ void second_middle(int* p, long n) {
  leaf(p + 7, n);
}
__global__ void second_direct(int* p, long n) {
  leaf(p, n);
}
__global__ void second_inlining(int* p, long n) {
  p[3] = 1;
  second_middle(p, n);
}
