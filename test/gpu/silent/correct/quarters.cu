// Four streams with exactly a quarter each: their ranges touch, but do not overlap.
// Pattern: https://developer.nvidia.com/blog/how-overlap-data-transfers-cuda-cc/
#include "../bounded.cuh"

__global__ void scale(float* values, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] *= 2;
}

int main() {
  const int n = 100'000, quarter = n / 4;
  float *values = on_device<float>(n), *host = pinned<float>(n);
  for (int k = 0; k < 4; ++k) {
    cudaStream_t stream = new_stream();
    float *mine = values + k * quarter, *on_host = host + k * quarter;
    cudaMemcpyAsync(mine, on_host, quarter * sizeof(float), cudaMemcpyHostToDevice, stream);
    scale<<<(quarter + 255) / 256, 256, 0, stream>>>(mine, quarter);
    cudaMemcpyAsync(on_host, mine, quarter * sizeof(float), cudaMemcpyDeviceToHost, stream);
  }
  return finished();
}
