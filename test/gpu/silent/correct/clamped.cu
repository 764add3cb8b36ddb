// Neighbours beyond the border are clamped to it; the index is not linear in the thread.
// No public report.
#include "../bounded.cuh"

__global__ void blur(const float* in, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  out[i] = in[max(i - 3, 0)] + in[i] + in[min(i + 3, count - 1)];
}

int main() {
  const int count = 2000;
  float *in, *out = on_device<float>(count);
  cudaMalloc(&in, count * sizeof(float));
  cudaMemset(in, 0, count * sizeof(float));
  blur<<<8, 256>>>(in, out, count);
  return finished();
}
