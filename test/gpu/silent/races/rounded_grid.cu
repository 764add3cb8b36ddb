// No bounds check, and a grid of whole blocks: 90 elements, 256 threads.
// Report: https://github.com/risc0/risc0/issues/3803
#include "../bounded.cuh"

__global__ void zeroize(unsigned* elements) {
  unsigned& element = elements[blockIdx.x * blockDim.x + threadIdx.x];
  if (element == 0xffffffff) element = 0;  // ACCESS
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int count = 90;
  unsigned *elements, *next;
  cudaMalloc(&elements, count * sizeof(unsigned));  // ALLOC
  cudaMalloc(&next, 4096);
  cudaMemset(elements, 0xff, count * sizeof(unsigned));
  cudaMemset(next, 0, 4096);
  zeroize<<<1, corrected ? count : 256>>>(elements);  // OUT
  return finished();
}
