// Three arrays of different types share one allocation; each has its own stream, and the last array ends where the
// allocation ends.
// No public report.
#include "../bounded.cuh"

template <typename T>
__global__ void fill(T* values, int count, T what) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] = what;
}

int main() {
  const int doubles = 300, floats = 700, bytes = 1001;
  char* arena;
  cudaMalloc(&arena, doubles * sizeof(double) + floats * sizeof(float) + bytes);
  auto* first = reinterpret_cast<double*>(arena);
  auto* second = reinterpret_cast<float*>(first + doubles);
  auto* third = reinterpret_cast<char*>(second + floats);
  fill<<<4, 256, 0, new_stream()>>>(first, doubles, 1.0);
  fill<<<4, 256, 0, new_stream()>>>(second, floats, 2.0F);
  fill<<<4, 256, 0, new_stream()>>>(third, bytes, '3');
  return finished();
}
