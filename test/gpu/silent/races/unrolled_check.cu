// A loop unrolled by four checks only its first element: the last thread writes three elements past the end.
// Report: https://github.com/ORNL/HeCBench/issues/267 (a histogram's loop writes past its allocation)
#include "../bounded.cuh"

__global__ void quantise(char* codes, int count) {
  const int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  for (int k = 0; k < 4; ++k) codes[i + k] = static_cast<char>(k);  // ACCESS
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int count = 7001;
  char* codes;
  cudaMalloc(&codes, count);                                           // ALLOC
  quantise<<<8, 256>>>(codes, corrected ? count - count % 4 : count);  // OUT
  return finished();
}
