// A host function, queued after the copy, marks the staging buffer as free again.
// Pattern: https://github.com/LuisaGroup/LuisaCompute/pull/248
#include <atomic>
#include <cstring>
#include <thread>

#include "../bounded.cuh"

static std::atomic<int> uploads{0};

static void uploaded(void*) { ++uploads; }

int main() {
  const size_t bytes = 100'000;
  char *staging = pinned<char>(bytes), *device = on_device<char>(bytes);
  cudaStream_t stream = new_stream();
  for (int step = 0; step < 4; ++step) {
    while (uploads < step) std::this_thread::yield();
    memset(staging, 30 + step, bytes);
    busy<<<1, 1, 0, stream>>>(ticks(0.05));
    cudaMemcpyAsync(device, staging, bytes, cudaMemcpyHostToDevice, stream);
    cudaLaunchHostFunc(stream, uploaded, nullptr);
  }
  return finished();
}
