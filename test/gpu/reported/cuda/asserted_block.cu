// A kernel asserts the number of threads that it was written for; a tuned launch uses another one.
#include <cassert>

constexpr int expected_threads = 128;

__global__ void norm(const float* x, int n, float* sum) {
  assert(blockDim.x == expected_threads);
  __shared__ float parts[expected_threads];
  float mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += x[i] * x[i];
  parts[threadIdx.x] = mine;
  __syncthreads();
  for (int half = expected_threads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(sum, parts[0]);
}

struct Configuration {
  int blocks, threads;
};

bool run(const Configuration& tuned, const float* x, int n, float* sum) {
  norm<<<tuned.blocks, tuned.threads>>>(x, n, sum);  // LAUNCH
  return cudaDeviceSynchronize() == cudaSuccess;
}

int main() {
  const int n = 1 << 20;
  float *x, *sum;
  cudaMalloc(&x, n * sizeof(float));
  cudaMalloc(&sum, sizeof(float));
  cudaMemset(x, 0, n * sizeof(float));
  cudaMemset(sum, 0, sizeof(float));
  if (!run({264, 128}, x, n, sum)) return 77;
  return run({132, 256}, x, n, sum) ? 0 : 1;
}
