// Two buffers take turns; after an odd number of steps, the caller frees the one with the result.
#include <utility>

__global__ void relax(const float* in, float* out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = 0.5f * in[i];
}

__global__ void norm(const float* x, int n, float* sum) {
  float mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    mine += x[i] * x[i];  // ACCESS
  atomicAdd(sum, mine);
}

const float* smooth(float* now, float* next, int n, int steps) {
  for (int i = 0; i < steps; i++) {
    relax<<<256, 256>>>(now, next, n);
    std::swap(now, next);
  }
  return now;
}

int main() {
  const int n = 16 << 20;
  float *state, *scratch, *sum;
  cudaMalloc(&sum, sizeof(float));
  cudaMalloc(&state, n * sizeof(float));
  cudaMalloc(&scratch, n * sizeof(float));  // ALLOC
  cudaMemset(state, 0, n * sizeof(float));
  norm<<<256, 256>>>(state, n, sum);
  const float* result = smooth(state, scratch, n, 7);
  cudaFree(scratch);                   // FREED
  norm<<<256, 256>>>(result, n, sum);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
