// The buffer's capacity is larger than its length. One stream works on the elements, and another clears the unused
// part.
// No public report.
#include "../bounded.cuh"

__global__ void pack(int* tokens, int length) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < length; i += gridDim.x * blockDim.x) tokens[i] = i;
}

int main() {
  const int capacity = 10'000, length = 6001;
  int* tokens = on_device<int>(capacity);
  pack<<<4, 256, 0, new_stream()>>>(tokens, length);
  cudaMemsetAsync(tokens + length, 0xff, (capacity - length) * sizeof(int), new_stream());
  return finished();
}
