// The last of three streams takes the remainder; its grid has more threads than elements.
// No public report.
#include "../bounded.cuh"

__global__ void negate(short* values, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] = static_cast<short>(-values[i]);
}

int main() {
  const int n = 10'007, third = n / 3;
  short* values = on_device<short>(n);
  for (int k = 0; k < 3; ++k) {
    const int count = k < 2 ? third : n - 2 * third;
    negate<<<32, 128, 0, new_stream()>>>(values + k * third, count);
  }
  return finished();
}
