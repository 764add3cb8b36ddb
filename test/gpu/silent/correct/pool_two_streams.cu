// Memory of a pool is used on a second stream after an event, and freed in the first one after another event.
// Pattern: https://github.com/cupy/cupy/issues/8068
#include "../bounded.cuh"

__global__ void fill(int* values, int count, int what) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] += what;
}

int main() {
  const int count = 30'000;
  cudaStream_t one = new_stream(), other = new_stream();
  cudaEvent_t filled = new_event(), used = new_event();
  for (int step = 0; step < 4; ++step) {
    int* values;
    cudaMallocAsync(&values, count * sizeof(int), one);
    fill<<<(count + 255) / 256, 256, 0, one>>>(values, count, step);
    cudaEventRecord(filled, one);
    cudaStreamWaitEvent(other, filled);
    fill<<<(count + 255) / 256, 256, 0, other>>>(values, count, step);
    cudaEventRecord(used, other);
    cudaStreamWaitEvent(one, used);
    cudaFreeAsync(values, one);
  }
  return finished();
}
