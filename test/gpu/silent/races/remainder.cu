// Four streams with a chunk each: every chunk includes the remainder, not only the last one.
// Pattern: https://developer.nvidia.com/blog/how-overlap-data-transfers-cuda-cc/
#include "../bounded.cuh"

__global__ void add(float* values, int count, float what) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] += what;
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int n = 100'003, chunk = n / 4, rest = n % 4;
  float* values = on_device<float>(n);
  cudaStream_t streams[4];
  for (cudaStream_t& stream : streams) stream = new_stream();
  for (int k = 0; k < 4; ++k) {
    const int count = chunk + (!corrected || k == 3 ? rest : 0);
    add<<<(count + 127) / 128, 128, 0, streams[k]>>>(values + k * chunk, count, 1.0F);  // FIRST
  }
  return finished();
}
