// Two translation units of one cubin. Functions are inlined into their kernels, twice in the second unit:
//   for f in first second; do nvcc -lineinfo -arch=sm_90 -rdc=true -cubin /src/$f.cu -o $f.cubin; done
//   nvlink -arch=sm_90 first.cubin second.cubin -o inlined.cubin
#include "leaf.cuh"
__global__ void first_plain(int* p) { p[threadIdx.x] = 3; }
__device__ __forceinline__ void first_middle(int* p, long n) {
  leaf(p + 1, n);
}
__global__ void first_inlining(int* p, long n) {
  first_middle(p, n);
  p[2] = 0;
}
