// A checkpoint is copied to the host while a kernel reads the same weights.
// Pattern: https://github.com/karpathy/llm.c/pull/556
#include "../bounded.cuh"

__global__ void apply(const float* weights, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] += weights[i];
}

int main() {
  const int count = 60'000;
  float *weights = on_device<float>(count), *out = on_device<float>(count), *saved = pinned<float>(count);
  cudaStream_t compute = new_stream(), saving = new_stream();
  apply<<<(count + 255) / 256, 256, 0, compute>>>(weights, out, count);
  cudaMemcpyAsync(saved, weights, count * sizeof(float), cudaMemcpyDeviceToHost, saving);
  apply<<<(count + 255) / 256, 256, 0, compute>>>(weights, out, count);
  return finished();
}
