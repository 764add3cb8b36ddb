// A kernel spins on a flag in host memory that no one sets. The kernel gives up after 8 s.
// Related: https://github.com/ai-dynamo/nixl/pull/1259 (an unbounded wait for a signal on the device)
#include "../bounded.cuh"

__global__ void wait_for_host(const int* flag, int value, long long most) { appears(flag, value, most); }  // SPINS

int main() {
  int* flag;
  cudaHostAlloc(&flag, sizeof *flag, cudaHostAllocMapped);
  *flag = 0;
  cudaStream_t stream = new_stream();
  wait_for_host<<<1, 1, 0, stream>>>(flag, 0, ticks(1));
  cudaStreamSynchronize(stream);
  wait_for_host<<<1, 1, 0, stream>>>(flag, 1, ticks(8));  // STUCK
  cudaStreamSynchronize(stream);                          // WAITS
  return finished();
}
