// The grid has a hundred times more threads than the array has elements; the guard keeps the others from writing.
// No public report.
#include "../bounded.cuh"

__global__ void fill(char* values, size_t count) {
  const size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
  if (i >= count) return;
  values[i] = 1;
}

int main() {
  char* values;
  cudaMalloc(&values, 777);
  fill<<<300, 256>>>(values, 777);
  return finished();
}
