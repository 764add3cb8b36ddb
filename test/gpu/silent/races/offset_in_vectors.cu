// The arena's offset counts vectors of four floats, but the second user adds it to a pointer to float.
// Related: https://github.com/ORNL/HeCBench/issues/112
#include "../bounded.cuh"

__global__ void fill_vectors(float4* vectors, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) vectors[i] = make_float4(1, 2, 3, 4);
}

__global__ void fill(float* values, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] = 5;
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int vectors = 3000, scalars = 5000;
  float* arena = on_device<float>(4 * vectors + scalars);
  cudaStream_t one = new_stream(), other = new_stream();
  const int offset = corrected ? 4 * vectors : vectors;
  fill_vectors<<<(vectors + 255) / 256, 256, 0, one>>>(reinterpret_cast<float4*>(arena), vectors);  // FIRST
  fill<<<(scalars + 255) / 256, 256, 0, other>>>(arena + offset, scalars);                          // SECOND
  return finished();
}
