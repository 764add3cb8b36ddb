// A ring of four slots; the host polls cudaEventQuery until the slot's copy is done.
// No public report.
#include <thread>

#include "../bounded.cuh"

int main() {
  const int slots = 4, count = 10'000;
  int *ring = pinned<int>(slots * count), *device = on_device<int>(count);
  cudaStream_t stream = new_stream();
  cudaEvent_t copied[slots];
  for (cudaEvent_t& event : copied) event = new_event();
  for (int step = 0; step < 12; ++step) {
    const int slot = step % slots;
    while (cudaEventQuery(copied[slot]) == cudaErrorNotReady) std::this_thread::yield();
    for (int i = 0; i < count; ++i) ring[slot * count + i] = step + i;
    busy<<<1, 1, 0, stream>>>(ticks(0.01));
    cudaMemcpyAsync(device, ring + slot * count, count * sizeof(int), cudaMemcpyHostToDevice, stream);
    cudaEventRecord(copied[slot], stream);
  }
  return finished();
}
