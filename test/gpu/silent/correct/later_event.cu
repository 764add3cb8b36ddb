// Two buffers on one stream; the host waits for the later copy, and thereby for the earlier one.
// Pattern: https://github.com/AcademySoftwareFoundation/openvdb/pull/2287 (one event that covers every use)
#include <cstring>

#include "../bounded.cuh"

int main() {
  const size_t bytes = 200'000;
  char *buffers[2] = {pinned<char>(bytes), pinned<char>(bytes)}, *device = on_device<char>(bytes);
  cudaStream_t stream = new_stream();
  cudaEvent_t uploaded = new_event();
  for (int step = 0; step < 6; ++step) {
    if (step > 0) cudaEventSynchronize(uploaded);
    memset(buffers[step % 2], step, bytes);
    busy<<<1, 1, 0, stream>>>(ticks(0.02));
    cudaMemcpyAsync(device, buffers[step % 2], bytes, cudaMemcpyHostToDevice, stream);
    cudaEventRecord(uploaded, stream);
  }
  return finished();
}
