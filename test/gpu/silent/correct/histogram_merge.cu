// Each stream has its own bins; they are merged after an event from every stream.
// No public report.
#include "../bounded.cuh"

__global__ void count_bytes(const unsigned char* data, int count, unsigned* bins) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) atomicAdd(&bins[data[i]], 1);
}

__global__ void merge(const unsigned* parts, unsigned* bins) {
  unsigned sum = 0;
  for (int part = 0; part < 4; ++part) sum += parts[256 * part + threadIdx.x];
  bins[threadIdx.x] = sum;
}

int main() {
  const int quarter = 8000;
  unsigned char* data = on_device<unsigned char>(4 * quarter);
  unsigned *parts = on_device<unsigned>(4 * 256), *bins = on_device<unsigned>(256);
  cudaStream_t merging = new_stream();
  for (int k = 0; k < 4; ++k) {
    cudaStream_t stream = new_stream();
    cudaEvent_t counted = new_event();
    count_bytes<<<32, 256, 0, stream>>>(data + k * quarter, quarter, parts + 256 * k);
    cudaEventRecord(counted, stream);
    cudaStreamWaitEvent(merging, counted);
  }
  merge<<<1, 256, 0, merging>>>(parts, bins);
  return finished();
}
