// A producer thread refills the buffer as soon as the copy is issued, instead of when it is done.
// Related: https://github.com/NVIDIA/cudf/issues/22284 (another thread overwrites pinned memory under a copy)
#include <atomic>
#include <thread>

#include "../bounded.cuh"

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int count = 50'000, batches = 3;
  int *batch = pinned<int>(count), *device = on_device<int>(count);
  cudaStream_t stream = new_stream();
  std::atomic<int> filled{0}, taken{0};
  std::thread producer([&] {
    for (int k = 1; k <= batches; ++k) {
      while (taken < k - 1) std::this_thread::yield();
      for (int i = 0; i < count; ++i) batch[i] = k * i;  // HOST
      filled = k;
    }
  });
  for (int k = 1; k <= batches; ++k) {
    while (filled < k) std::this_thread::yield();
    busy<<<1, 1, 0, stream>>>(ticks(0.1));
    cudaMemcpyAsync(device, batch, count * sizeof(int), cudaMemcpyHostToDevice, stream);  // FIRST
    if (corrected) cudaStreamSynchronize(stream);
    taken = k;
  }
  producer.join();
  return finished();
}
