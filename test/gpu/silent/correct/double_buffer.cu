// Two upload buffers with an event each; the host waits for the event before it refills a buffer.
// Pattern: https://github.com/singhpratech/duckdbgpumetaldbram/pull/162
#include <cstring>

#include "../bounded.cuh"

int main() {
  const size_t bytes = 200'000;
  char *buffers[2] = {pinned<char>(bytes), pinned<char>(bytes)}, *device = on_device<char>(bytes);
  cudaStream_t stream = new_stream();
  cudaEvent_t uploaded[2] = {new_event(), new_event()};
  for (int step = 0; step < 8; ++step) {
    const int use = step % 2;
    cudaEventSynchronize(uploaded[use]);
    memset(buffers[use], step, bytes);
    busy<<<1, 1, 0, stream>>>(ticks(0.02));
    cudaMemcpyAsync(device, buffers[use], bytes, cudaMemcpyHostToDevice, stream);
    cudaEventRecord(uploaded[use], stream);
  }
  return finished();
}
