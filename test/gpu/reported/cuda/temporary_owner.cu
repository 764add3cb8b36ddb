// The owner of a buffer is a temporary object, so the buffer is gone at the end of the statement that asks for it.
#include <memory>

struct Release {
  void operator()(float* data) const { cudaFree(data); }  // FREED
};
using Owner = std::unique_ptr<float, Release>;

Owner load(int n) {
  float* data = nullptr;
  cudaMalloc(&data, n * sizeof(float));  // ALLOC
  cudaMemset(data, 0, n * sizeof(float));
  return Owner(data);
}

__global__ void apply(const float* weights, float* x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] *= weights[i];  // ACCESS
}

int main() {
  const int n = 16 << 20;
  float* x;
  cudaMalloc(&x, n * sizeof(float));
  cudaMemset(x, 0, n * sizeof(float));
  apply<<<256, 256>>>(x, x, n);
  if (cudaDeviceSynchronize() != cudaSuccess) return 77;
  const float* weights = load(n).get();
  apply<<<256, 256>>>(weights, x, n);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
