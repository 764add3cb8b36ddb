// The host prepares the upper half of a pinned buffer while the lower one is copied; it begins 16 elements too early.
// Pattern: https://github.com/karpathy/llm.c/pull/556 (two halves of one pinned buffer take turns)
#include "../bounded.cuh"

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int half = 30'000;
  double *buffer = pinned<double>(2 * half), *device = on_device<double>(half);
  cudaStream_t stream = new_stream();
  busy<<<1, 1, 0, stream>>>(ticks(0.2));
  cudaMemcpyAsync(device, buffer, half * sizeof(double), cudaMemcpyHostToDevice, stream);  // FIRST
  for (int i = corrected ? half : half - 16; i < 2 * half; ++i) {
    buffer[i] = 0.25 * i;  // HOST
  }
  return finished();
}
