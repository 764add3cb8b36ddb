// A buffer is passed by value, so two objects release the same memory.
#include <cstdio>

int failures = 0;

struct Buffer {
  explicit Buffer(size_t bytes) { cudaMalloc(&data, bytes); }
  ~Buffer() {
    cudaError_t error = cudaFree(data);  // LAUNCH
    if (error == cudaSuccess) return;
    fprintf(stderr, "release: %s\n", cudaGetErrorString(error));
    failures++;
  }
  float* data = nullptr;
};

__global__ void clear(float* x) { x[blockIdx.x * blockDim.x + threadIdx.x] = 0; }

void clear_all(Buffer buffer, int n) {
  clear<<<n / 256, 256>>>(buffer.data);
  cudaDeviceSynchronize();
}

int main() {
  const int n = 1 << 20;
  {
    Buffer buffer(n * sizeof(float));
    clear_all(buffer, n);
  }
  return failures;
}
