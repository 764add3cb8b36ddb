// One event is used for every hand-over. It may be recorded again once all waits for the last recording are issued.
// Pattern: https://github.com/rapidsai/rapidsmpf/pull/515
#include "../bounded.cuh"

__global__ void add(int* values, int what) { values[blockIdx.x * blockDim.x + threadIdx.x] += what; }

int main() {
  int* values = on_device<int>(4096);
  cudaStream_t streams[2] = {new_stream(), new_stream()};
  cudaEvent_t turn = new_event();
  for (int step = 0; step < 8; ++step) {
    if (step > 0) cudaStreamWaitEvent(streams[step % 2], turn);
    add<<<16, 256, 0, streams[step % 2]>>>(values, step);
    cudaEventRecord(turn, streams[step % 2]);
  }
  return finished();
}
