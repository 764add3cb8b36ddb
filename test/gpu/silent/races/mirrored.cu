// A kernel reads the mirrored element: for the lower half it reads what the other stream writes.
// No public report.
#include "../bounded.cuh"

__global__ void mirror(const float* in, float* out, int last, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = in[last - i];
}

__global__ void refine(float* values, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] = values[i] * 0.5F + 1;
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int n = 20'000, half = n / 2;
  float *signal = on_device<float>(n), *out = on_device<float>(half);
  cudaStream_t writing = new_stream(), reading = new_stream();
  refine<<<(half + 255) / 256, 256, 0, writing>>>(signal + half, half);                              // FIRST
  mirror<<<(half + 255) / 256, 256, 0, reading>>>(signal, out, corrected ? half - 1 : n - 1, half);  // SECOND
  return finished();
}
