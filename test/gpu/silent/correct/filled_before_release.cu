// A kernel in front of the copy waits for a word in the GPU's memory. The host fills the source after it has issued the
// copy, and then releases the kernel by work in another stream.
// No public report.
#include "../bounded.cuh"

__global__ void wait_for(const volatile int* word, int value, long long most) { appears(word, value, most); }

int main() {
  const int count = 10'000;
  int *source = pinned<int>(count), *device = on_device<int>(count), *word = on_device<int>(1);
  cudaStream_t stream = new_stream(), other = new_stream();
  cudaEvent_t copied = new_event();
  // Loads both kernels: this may have to wait for the GPU.
  busy<<<1, 1, 0, stream>>>(0);
  wait_for<<<1, 1, 0, stream>>>(word, 0, 0);
  cudaStreamSynchronize(stream);
  for (int step = 1; step < 4; ++step) {
    wait_for<<<1, 1, 0, stream>>>(word, 0x01010101 * step, ticks(2));
    cudaMemcpyAsync(device, source, count * sizeof(int), cudaMemcpyHostToDevice, stream);
    cudaEventRecord(copied, stream);
    for (int i = 0; i < count; ++i) source[i] = step + i;
    if (cudaEventQuery(copied) != cudaErrorNotReady) return 77;
    cudaMemsetAsync(word, step, sizeof(int), other);
    if (cudaEventSynchronize(copied) != cudaSuccess) return 1;
  }
  return finished();
}
