// One stream writes the real parts, and another writes the imaginary parts of the same array.
// Pattern: https://github.com/facebookresearch/xformers/issues/265 (stores to 2*i and 2*i + 1 do not overlap)
#include "../bounded.cuh"

__global__ void set_real(float2* z, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) z[i].x = 1;
}

__global__ void set_imaginary(float2* z, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) z[i].y = 2;
}

int main() {
  const int count = 4000;
  float2* z;
  cudaMalloc(&z, count * sizeof(float2));
  set_real<<<16, 256, 0, new_stream()>>>(z, count);
  set_imaginary<<<16, 256, 0, new_stream()>>>(z, count);
  return finished();
}
