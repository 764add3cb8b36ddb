// A slice is passed with the length of the whole buffer: the grid is small, but its last block reaches the next slice.
// Report: https://github.com/risc0/risc0/issues/3803 (the tail threads of the last block use memory of others)
#include "../bounded.cuh"

__global__ void clear(int* slice, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) slice[i] = 0;
}

__global__ void count_up(int* slice, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) slice[i] += 1;
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int slice = 1000, n = 2 * slice;
  int* buffer = on_device<int>(n);
  cudaStream_t one = new_stream(), other = new_stream();
  clear<<<4, 256, 0, one>>>(buffer, corrected ? slice : n);  // FIRST
  count_up<<<4, 256, 0, other>>>(buffer + slice, slice);     // SECOND
  return finished();
}
