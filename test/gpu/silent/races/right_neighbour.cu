// A central difference reads the right neighbour of the last element.
// Report: https://github.com/myurtoglu/cudaforengineers/issues/5
#include "../bounded.cuh"

__global__ void derivative(const float* in, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0 || i >= count) return;
  out[i] = (in[i - 1] + in[i + 1] - 2 * in[i]) * 100;  // ACCESS
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int size = 3000;
  float *in, *out;
  cudaMalloc(&in, size * sizeof(float));  // ALLOC
  cudaMalloc(&out, size * sizeof(float));
  cudaMemset(in, 0, size * sizeof(float));
  derivative<<<12, 256>>>(in, out, corrected ? size - 1 : size);  // OUT
  return finished();
}
