// Coefficients moved from constant to global memory; their upload still treats them as a symbol.
#include <cstdio>

__global__ void filter(const float* coefficients, const float* in, float* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i] * coefficients[i & 15];
}

int main() {
  const int n = 1 << 16;
  float host[16] = {1}, *coefficients, *in, *out;
  cudaMalloc(&coefficients, sizeof host);
  cudaMalloc(&in, n * sizeof(float));
  cudaMalloc(&out, n * sizeof(float));
  cudaMemset(in, 0, n * sizeof(float));
  cudaError_t error = cudaMemcpyToSymbol(static_cast<const void*>(coefficients), host, sizeof host);  // LAUNCH
  if (error != cudaSuccess) {
    fprintf(stderr, "upload: %s\n", cudaGetErrorString(error));
    return 1;
  }
  filter<<<n / 256, 256>>>(coefficients, in, out);
  return cudaDeviceSynchronize() != cudaSuccess;
}
