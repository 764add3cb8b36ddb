// Host functions on a stream take 1.5 s each, as if they wrote to a disk.
// Pattern: https://github.com/pytorch/FBGEMM/pull/5462
#include <chrono>
#include <thread>

#include "../bounded.cuh"

static void write_out(void*) { std::this_thread::sleep_for(std::chrono::milliseconds(1500)); }

int main() {
  int* values = on_device<int>(256);
  cudaStream_t stream = new_stream();
  for (int step = 0; step < 4; ++step) {
    cudaMemsetAsync(values, step, 1024, stream);
    cudaLaunchHostFunc(stream, write_out, nullptr);
  }
  return finished();
}
