// More weights are copied into constant memory than the array has room for.
#include <vector>

__constant__ float weights[1024];

__global__ void apply(float* x, int n, int taps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int tap = 0; tap < taps; tap++) sum += weights[tap] * x[i];
  x[i] = sum;
}

bool load(const std::vector<float>& host) {
  return cudaMemcpyToSymbol(weights, host.data(), host.size() * sizeof(float)) == cudaSuccess;  // LAUNCH
}

int main() {
  const int n = 1 << 16;
  float* x;
  cudaMalloc(&x, n * sizeof(float));
  cudaMemset(x, 0, n * sizeof(float));
  if (!load(std::vector<float>(31 * 31, 1.0f))) return 77;
  apply<<<n / 256, 256>>>(x, n, 31 * 31);
  if (cudaDeviceSynchronize() != cudaSuccess) return 77;
  if (!load(std::vector<float>(63 * 63, 1.0f))) return 1;
  apply<<<n / 256, 256>>>(x, n, 63 * 63);
  return cudaDeviceSynchronize() != cudaSuccess;
}
