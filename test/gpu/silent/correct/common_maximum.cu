// Three streams combine their maxima in one word by atomicMax.
// No public report.
#include "../bounded.cuh"

__global__ void largest(const int* values, int count, int* maximum) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) atomicMax(maximum, values[i]);
}

int main() {
  const int count = 5000;
  int* maximum = on_device<int>(1);
  for (int k = 0; k < 3; ++k) largest<<<20, 256, 0, new_stream()>>>(on_device<int>(count), count, maximum);
  return finished();
}
