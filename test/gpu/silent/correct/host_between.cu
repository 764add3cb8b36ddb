// The host waits for one stream before it launches in another; half of the time, it waits for the whole device.
// No public report.
#include "../bounded.cuh"

__global__ void add(int* values, int what) { values[blockIdx.x * blockDim.x + threadIdx.x] += what; }

int main() {
  int* values = on_device<int>(4096);
  cudaStream_t streams[3] = {new_stream(), new_stream(), new_stream()};
  for (int step = 0; step < 6; ++step) {
    add<<<16, 256, 0, streams[step % 3]>>>(values, step);
    if (step % 2)
      cudaDeviceSynchronize();
    else
      cudaStreamSynchronize(streams[step % 3]);
  }
  return finished();
}
