// The event that guards the staging buffer is recorded before the copy, not after it.
// Related: https://github.com/LuisaGroup/LuisaCompute/pull/248 (a staging region is free again before its copy is over)
#include <cstring>

#include "../bounded.cuh"

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const size_t bytes = 1 << 18;
  char *staging = pinned<char>(bytes), *device = on_device<char>(bytes);
  cudaStream_t stream = new_stream();
  cudaEvent_t free_again = new_event();
  for (int step = 0; step < 4; ++step) {
    cudaEventSynchronize(free_again);
    memset(staging, 10 + step, bytes);  // HOST
    if (!corrected) cudaEventRecord(free_again, stream);
    busy<<<1, 1, 0, stream>>>(ticks(0.05));
    cudaMemcpyAsync(device, staging, bytes, cudaMemcpyHostToDevice, stream);  // FIRST
    if (corrected) cudaEventRecord(free_again, stream);
  }
  return finished();
}
