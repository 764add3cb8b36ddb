// The pointer points to the first inner cell; there are ghost cells before it and after the last one.
// Pattern: https://github.com/myurtoglu/cudaforengineers/issues/5 (corrected)
#include "../bounded.cuh"

__global__ void derivative(const float* inner, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = inner[i - 2] - inner[i + 2];
}

int main() {
  const int count = 900;
  float *cells = on_device<float>(count + 4), *out = on_device<float>(count);
  derivative<<<4, 256>>>(cells + 2, out, count);
  return finished();
}
