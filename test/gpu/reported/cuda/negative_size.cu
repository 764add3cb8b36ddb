// The size of a gradient buffer is an int; it becomes negative, and then an enormous size_t.
#include <cstdio>

unsigned long long elements_of(int tables, int rows, int width) {
  unsigned elements = unsigned(tables) * unsigned(rows) * unsigned(width);
  return static_cast<int>(elements);
}

int main() {
  float* gradients;
  for (int tables : {2, 40}) {
    cudaError_t error = cudaMalloc(&gradients, elements_of(tables, 1 << 19, 128));  // LAUNCH
    if (error != cudaSuccess) {
      fprintf(stderr, "%d tables: %s\n", tables, cudaGetErrorString(error));
      return 1;
    }
  }
  return 0;
}
