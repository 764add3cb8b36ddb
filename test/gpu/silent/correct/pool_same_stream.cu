// A stream-ordered pool returns the same address again, on the same stream.
// No public report.
#include "../bounded.cuh"

__global__ void fill(int* values, int count, int what) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] = what;
}

int main() {
  const int count = 30'000;
  cudaStream_t stream = new_stream();
  for (int step = 0; step < 6; ++step) {
    int* values;
    cudaMallocAsync(&values, count * sizeof(int), stream);
    fill<<<(count + 255) / 256, 256, 0, stream>>>(values, count, step);
    cudaFreeAsync(values, stream);
  }
  return finished();
}
