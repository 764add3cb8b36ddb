// A host function on a stream needs a lock that main holds while it waits for the stream. The host function gives up
// after 8 s.
// Report: https://github.com/openxla/xla/pull/6318
#include <chrono>
#include <mutex>

#include "../bounded.cuh"

static std::timed_mutex lock;

static void give_back(void*) {
  if (lock.try_lock_for(std::chrono::seconds(8))) lock.unlock();
}

int main() {
  int* memory = on_device<int>(64);
  cudaStream_t stream = new_stream();
  lock.lock();
  cudaMemsetAsync(memory, 1, 64 * sizeof(int), stream);
  cudaLaunchHostFunc(stream, give_back, nullptr);  // STUCK
  cudaMemsetAsync(memory, 2, 64 * sizeof(int), stream);
  cudaStreamSynchronize(stream);  // WAITS
  lock.unlock();
  return finished();
}
