// A kernel reads the lower half of one mapped allocation, and the host fills the upper half at the same time.
// Pattern: https://github.com/karpathy/llm.c/pull/556
#include "../bounded.cuh"

__global__ void square(const float* in, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = in[i] * in[i];
}

int main() {
  const int half = 10'000;
  float *in = mapped<float>(2 * half), *out = on_device<float>(2 * half);
  cudaStream_t stream = new_stream();
  busy<<<1, 1, 0, stream>>>(ticks(0.1));
  square<<<(half + 255) / 256, 256, 0, stream>>>(in, out, half);
  for (int i = half; i < 2 * half; ++i) in[i] = 0.5f * i;
  square<<<(half + 255) / 256, 256, 0, stream>>>(in + half, out + half, half);
  return finished();
}
