// Indices begin at one, as in Fortran: the kernel gets a pointer to one element before the allocation.
// No public report.
#include "../bounded.cuh"

__global__ void fill(double* one_based, int count) {
  const int i = 1 + blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= count) one_based[i] = i;
}

int main() {
  const int count = 500;
  double* values;
  cudaMalloc(&values, count * sizeof(double));
  fill<<<2, 256>>>(values - 1, count);
  return finished();
}
