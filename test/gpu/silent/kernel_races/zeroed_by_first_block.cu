// The first block zeroes the sums to which all blocks add; blocks have no order.
// Related: https://github.com/ROCm/aiter/pull/4622 (the first block zeroes the tile, and others must wait for that)
#include "../bounded.cuh"

__global__ void add_columns(const float* in, float* sums, int columns, bool zero) {
  if (zero && blockIdx.x == 0) {
    for (int i = threadIdx.x; i < columns; i += blockDim.x) sums[i] = 0;  // FIRST
  }
  __syncthreads();
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    atomicAdd(&sums[i], in[blockIdx.x * columns + i]);  // SECOND
  }
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int columns = 300, rows = 64;
  float *in = numbered<float>(columns * rows), *sums = on_device<float>(columns);
  if (corrected) cudaMemsetAsync(sums, 0, columns * sizeof(float), nullptr);
  add_columns<<<rows, 128>>>(in, sums, columns, !corrected);  // LAUNCH
  return finished();
}
