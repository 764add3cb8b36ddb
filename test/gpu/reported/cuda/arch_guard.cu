// A kernel for features of sm_90a is built for sm_90, so its guard prints a message and stops it.
#include <cstdio>

__global__ void multiply(const float* left, const float* right, float* out, int n) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = left[i] * right[i];
#else
  if (threadIdx.x == 0) printf("This kernel needs to be built for sm_90a.\n");
  __trap();
#endif
}

int main() {
  const int n = 1 << 16;
  float *left, *right, *out;
  cudaMalloc(&left, n * sizeof(float));
  cudaMalloc(&right, n * sizeof(float));
  cudaMalloc(&out, n * sizeof(float));
  multiply<<<n / 256, 256>>>(left, right, out, n);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
