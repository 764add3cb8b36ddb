// A view that checks its bounds prints a message and stops the kernel with a trap.
#include <cstdio>

struct View {
  float* data;
  int rows, columns;
  __device__ float& operator()(int r, int c) const {
    if (r < 0 || r >= rows || c < 0 || c >= columns) {
      printf("view index (%d, %d) is outside of (%d, %d)\n", r, c, rows, columns);
      __trap();
    }
    return data[r * columns + c];
  }
};

__global__ void shift(View from, View to) { to(blockIdx.x, threadIdx.x) = from(blockIdx.x + 1, threadIdx.x); }

int main() {
  const int rows = 1024, columns = 256;
  View from{nullptr, rows, columns}, to{nullptr, rows, columns};
  cudaMalloc(&from.data, rows * columns * sizeof(float));
  cudaMalloc(&to.data, rows * columns * sizeof(float));
  cudaMemset(from.data, 0, rows * columns * sizeof(float));
  shift<<<rows, columns>>>(from, to);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
