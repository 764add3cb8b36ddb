// Two matrix products on two streams share the workspace for their partial sums.
// Report: https://github.com/ggml-org/llama.cpp/pull/9413
#include "../bounded.cuh"

__global__ void partial_sums(const float* rows, float* workspace, int columns) {
  float sum = 0;
  for (int column = threadIdx.x; column < columns; column += blockDim.x) sum += rows[blockIdx.x * columns + column];
  workspace[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int rows = 48, columns = 1024, threads = 64, partials = rows * threads;
  float *a = on_device<float>(rows * columns), *b = on_device<float>(rows * columns);
  float* workspace = on_device<float>(2 * partials);
  cudaStream_t one = new_stream(), other = new_stream();
  partial_sums<<<rows, threads, 0, one>>>(a, workspace, columns);                                 // FIRST
  partial_sums<<<rows, threads, 0, other>>>(b, workspace + (corrected ? partials : 0), columns);  // SECOND
  return finished();
}
