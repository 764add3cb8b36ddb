// One stream is stuck while the program keeps working on another one and never checks the first.
// Related: https://github.com/pytorch/pytorch/issues/172668 (one stream's communication waits, the stages compute on)
#include <chrono>
#include <thread>

#include "../bounded.cuh"

__global__ void receive(const int* ready, int value, long long most) { appears(ready, value, most); }
__global__ void beat(int* count) { atomicAdd(count, 1); }

int main() {
  int *ready, *count = on_device<int>(1);
  cudaHostAlloc(&ready, sizeof *ready, cudaHostAllocMapped);
  *ready = 0;
  cudaStream_t stuck = new_stream(), working = new_stream();
  receive<<<1, 1, 0, stuck>>>(ready, 0, ticks(1));
  beat<<<1, 1, 0, working>>>(count);
  cudaDeviceSynchronize();
  receive<<<1, 1, 0, stuck>>>(ready, 1, ticks(8));  // STUCK
  for (int i = 0; i < 90; ++i) {
    beat<<<1, 1, 0, working>>>(count);
    cudaStreamSynchronize(working);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return finished();
}
