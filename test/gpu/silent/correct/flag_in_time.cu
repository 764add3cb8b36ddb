// A kernel spins on a flag, and the host sets it after a second.
// No public report.
#include <chrono>
#include <thread>

#include "../bounded.cuh"

__global__ void wait_for_host(const int* flag, long long most) { appears(flag, 1, most); }

int main() {
  int* flag;
  cudaHostAlloc(&flag, sizeof *flag, cudaHostAllocMapped);
  *flag = 0;
  cudaStream_t stream = new_stream();
  wait_for_host<<<1, 1, 0, stream>>>(flag, ticks(8));
  std::this_thread::sleep_for(std::chrono::seconds(1));
  *static_cast<volatile int*>(flag) = 1;
  cudaStreamSynchronize(stream);
  return finished();
}
