// A ring of three staging slots with four events: the wait before a refill is for an older copy than that of the slot.
// Related: https://github.com/singhpratech/duckdbgpumetaldbram/pull/162
#include "../bounded.cuh"

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int slots = 3, count = 20'000, events = corrected ? slots : slots + 1;
  int *ring = pinned<int>(slots * count), *device = on_device<int>(count);
  cudaStream_t stream = new_stream();
  cudaEvent_t copied[slots + 1];
  for (cudaEvent_t& event : copied) event = new_event();
  for (int step = 0; step < 9; ++step) {
    int* slot = ring + step % slots * count;
    cudaEventSynchronize(copied[step % events]);
    for (int i = 0; i < count; ++i) slot[i] = step * count + i;  // HOST
    busy<<<1, 1, 0, stream>>>(ticks(0.05));
    cudaMemcpyAsync(device, slot, count * sizeof(int), cudaMemcpyHostToDevice, stream);  // FIRST
    cudaEventRecord(copied[step % events], stream);
  }
  return finished();
}
