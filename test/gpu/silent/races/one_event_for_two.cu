// Two upload buffers on two streams share one event: recording it again loses the link to the first copy.
// Report: https://github.com/AcademySoftwareFoundation/openvdb/pull/2287
#include <cstring>

#include "../bounded.cuh"

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const size_t bytes = 300'000;
  char* buffers[2] = {pinned<char>(bytes), pinned<char>(bytes)};
  char* device[2] = {on_device<char>(bytes), on_device<char>(bytes)};
  cudaStream_t streams[2] = {new_stream(), new_stream()};
  cudaEvent_t uploaded[2] = {new_event(), new_event()};
  for (int step = 0; step < 5; ++step) {
    const int use = step % 2, event = corrected ? use : 0;
    if (step > 1) cudaEventSynchronize(uploaded[event]);
    memset(buffers[use], 20 + step, bytes);  // HOST
    busy<<<1, 1, 0, streams[use]>>>(ticks(use == 0 ? 0.2 : 0.02));
    cudaMemcpyAsync(device[use], buffers[use], bytes, cudaMemcpyHostToDevice, streams[use]);  // FIRST
    cudaEventRecord(uploaded[event], streams[use]);
  }
  return finished();
}
