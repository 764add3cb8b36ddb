// Grid-stride loops on unequal shares; the split was moved for balance, but only in one of two places.
// No public report.
#include "../bounded.cuh"

__global__ void square(float* values, int from, int to) {
  for (int i = from + blockIdx.x * blockDim.x + threadIdx.x; i < to; i += gridDim.x * blockDim.x) {
    values[i] *= values[i];
  }
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int n = 90'000, split = n * 2 / 3;
  float* values = on_device<float>(n);
  cudaStream_t large = new_stream(), small = new_stream();
  square<<<32, 256, 0, large>>>(values, 0, split);                      // FIRST
  square<<<16, 256, 0, small>>>(values, corrected ? split : n / 2, n);  // SECOND
  return finished();
}
