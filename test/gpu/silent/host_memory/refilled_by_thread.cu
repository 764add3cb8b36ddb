// A reader thread refills the batch as soon as the replay is launched, not when its copy is done.
// Related: https://github.com/NVIDIA/cudf/issues/22284 (another thread overwrites pinned memory under a copy)
#include <atomic>
#include <thread>

#include "../bounded.cuh"

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int count = 40'000, batches = 3;
  short *batch = pinned<short>(count), *device = on_device<short>(count);
  cudaStream_t stream = new_stream();
  cudaGraphExec_t step = captured(stream, [&] {
    cudaMemcpyAsync(device, batch, count * sizeof(short), cudaMemcpyHostToDevice, stream);  // CAPTURE
  });
  std::atomic<int> filled{0}, taken{0};
  std::thread reader([&] {
    for (int k = 1; k <= batches; ++k) {
      while (taken < k - 1) std::this_thread::yield();
      for (int i = 0; i < count; ++i) batch[i] = static_cast<short>(k + i);  // HOST
      filled = k;
    }
  });
  for (int k = 1; k <= batches; ++k) {
    while (filled < k) std::this_thread::yield();
    busy<<<1, 1, 0, stream>>>(ticks(0.1));
    cudaGraphLaunch(step, stream);  // REPLAY
    if (corrected) cudaStreamSynchronize(stream);
    taken = k;
  }
  reader.join();
  return finished();
}
