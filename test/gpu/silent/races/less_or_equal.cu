// `<=` in the guard: one element past the end is written. It does not fault, because the allocator's granularity is
// larger.
// Report: https://github.com/autowarefoundation/autoware/pull/113
#include "../bounded.cuh"

__global__ void offsets(int* starts, int last) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= last) starts[i] = 8 * i;  // ACCESS
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int count = 1000;
  int* starts;
  cudaMalloc(&starts, count * sizeof(int));                    // ALLOC
  offsets<<<4, 256>>>(starts, corrected ? count - 1 : count);  // OUT
  return finished();
}
