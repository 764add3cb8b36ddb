// Three arrays of different types lie in one allocation; each has a stream of its own, and the last ends at its end.
// Without a report.
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
