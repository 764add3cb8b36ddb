// A kernel of another stream waits until the copy has written its word, so its end shows the host that the source may be
// filled again.
// No public report.
#include "../bounded.cuh"

__global__ void observe(const volatile int* word, int value, long long most) { appears(word, value, most); }

int main() {
  int *source = pinned<int>(1), *device = on_device<int>(1);
  cudaStream_t stream = new_stream(), other = new_stream();
  cudaEvent_t done = new_event();
  // Loads both kernels: this may have to wait for the GPU.
  busy<<<1, 1, 0, stream>>>(0);
  observe<<<1, 1, 0, other>>>(device, 0, 0);
  cudaDeviceSynchronize();
  for (int step = 2; step < 40; ++step) {
    *source = step;
    observe<<<1, 1, 0, other>>>(device, step, ticks(2));
    cudaMemcpyAsync(device, source, sizeof(int), cudaMemcpyHostToDevice, stream);
    busy<<<1, 1, 0, stream>>>(ticks(0.01));
    cudaEventRecord(done, stream);
    cudaStreamSynchronize(other);
    *source = 0;
    cudaEventQuery(done);
    cudaEventSynchronize(done);
  }
  return finished();
}
