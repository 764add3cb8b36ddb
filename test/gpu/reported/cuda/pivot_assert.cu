// A solver of small systems asserts that a pivot is not zero; one system is singular.
#include <cassert>
#include <vector>

__global__ void solve(float* systems, const float* right, float* out) {
  float* a = systems + 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  const float* b = right + 2 * (blockIdx.x * blockDim.x + threadIdx.x);
  float pivot = a[0] * a[3] - a[1] * a[2];
  assert(pivot != 0 && "singular system");
  out[2 * (blockIdx.x * blockDim.x + threadIdx.x)] = (b[0] * a[3] - a[1] * b[1]) / pivot;
}

int main() {
  const int n = 1 << 16;
  std::vector<float> host(4 * n, 1.0f);
  for (int i = 0; i < n; i++) host[4 * i] = i == 4321 ? 1 : 3;
  float *systems, *right, *out;
  cudaMalloc(&systems, 4 * n * sizeof(float));
  cudaMalloc(&right, 2 * n * sizeof(float));
  cudaMalloc(&out, 2 * n * sizeof(float));
  cudaMemcpy(systems, host.data(), 4 * n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemset(right, 0, 2 * n * sizeof(float));
  solve<<<n / 256, 256>>>(systems, right, out);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
