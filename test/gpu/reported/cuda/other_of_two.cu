// Two buffers take turns, and the one without the result is freed. The program succeeds.
#include <utility>

__global__ void increase(const float* in, float* out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = in[i] + 1;
}

__global__ void maximum(const float* x, int n, int* largest) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicMax(largest, static_cast<int>(x[i]));
}

int main() {
  const int n = 4 << 20;
  float *now, *next;
  int *largest, result = 0;
  cudaMalloc(&largest, sizeof(int));
  cudaMalloc(&now, n * sizeof(float));
  cudaMalloc(&next, n * sizeof(float));
  cudaMemset(largest, 0, sizeof(int));
  cudaMemset(now, 0, n * sizeof(float));
  for (int i = 0; i < 7; i++) {
    increase<<<256, 256>>>(now, next, n);
    std::swap(now, next);
  }
  cudaFree(next);
  maximum<<<256, 256>>>(now, n, largest);
  cudaMemcpy(&result, largest, sizeof result, cudaMemcpyDeviceToHost);
  return result != 7;
}
