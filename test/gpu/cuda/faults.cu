// One kernel per kind of device exception: ./faults KIND
#include <cassert>
#include <cstdio>
#include <string>

__global__ void fill(int* p, int v) { p[threadIdx.x] = v; }
__global__ void far_store(int* p) { p[threadIdx.x + (1ull << 40)] = 1; }
__global__ void assert_positive(const int* p) { assert(p[threadIdx.x] > 0); }
__global__ void misaligned_store(char* p) { *reinterpret_cast<int*>(p + threadIdx.x + 1) = 1; }
__global__ void trap_here(int* p) { threadIdx.x == 3 ? __trap() : void(p[threadIdx.x] = 1); }
__device__ int deep(int* p, int n) {
  volatile int frame[64];
  frame[n & 63] = n;
  return n > 1 << 20 ? frame[1] : deep(p, n + 1) + frame[n & 63];
}
__global__ void overflow_stack(int* p) { p[threadIdx.x] = deep(p, threadIdx.x); }
__global__ void shared_out_of_range(int* p, int i) {
  extern __shared__ int tile[];
  tile[i] = threadIdx.x;
  p[threadIdx.x] = tile[0];
}

int main(int, char** argv) {
  std::string kind = argv[1];
  int *p, *freed;
  cudaMalloc(&p, 4096);
  fill<<<1, 32>>>(p, 0);
  fill<<<1, 32>>>(p, 0);
  if (kind == "freed") {  // not earlier: the driver would reuse memory that was freed before the first launch
    cudaMalloc(&freed, 64 << 20);
    cudaFree(freed);
    fill<<<1, 32>>>(freed, 1);  // TRUE LINE freed
  }
  if (kind == "far_store") far_store<<<2, 32>>>(p);                                   // TRUE LINE far_store
  if (kind == "assert") assert_positive<<<2, 32>>>(p);                                // TRUE LINE assert
  if (kind == "misaligned") misaligned_store<<<1, 32>>>(reinterpret_cast<char*>(p));  // TRUE LINE misaligned
  if (kind == "trap") trap_here<<<1, 32>>>(p);                                        // TRUE LINE trap
  if (kind == "stack") overflow_stack<<<1, 32>>>(p);                                  // TRUE LINE stack
  if (kind == "shared") shared_out_of_range<<<1, 32, 1024>>>(p, 1 << 20);             // TRUE LINE shared
  fill<<<1, 32>>>(p, 3);
  return cudaDeviceSynchronize() != cudaSuccess;  // BLAMED
}
