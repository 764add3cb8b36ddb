// Two streams take every other element, but both start at the same one.
// Related: https://github.com/facebookresearch/xformers/issues/265 (offsets 2*i and 2*i + 1)
#include "../bounded.cuh"

__global__ void rotate(float* values, int start, int pairs, float angle) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < pairs) values[2 * i + start] += angle;
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int pairs = 6000;
  float* values = on_device<float>(2 * pairs + 1);
  cudaStream_t even = new_stream(), odd = new_stream();
  rotate<<<(pairs + 255) / 256, 256, 0, even>>>(values, 0, pairs, 0.5F);                  // FIRST
  rotate<<<(pairs + 255) / 256, 256, 0, odd>>>(values, corrected ? 1 : 2, pairs, -0.5F);  // SECOND
  return finished();
}
