// Pieces are carved out of a workspace whose allocation failed: null plus 256 MiB.
#include <cstddef>

__global__ void start(float* partial, float value) { partial[threadIdx.x] = value; }  // ACCESS

int main() {
  char* workspace = nullptr;
  cudaMalloc(&workspace, size_t(1) << 46);  // REFUSED
  float* partial = reinterpret_cast<float*>(workspace + (256 << 20));
  start<<<1, 64>>>(partial, 1);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
