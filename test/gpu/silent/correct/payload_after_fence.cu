// Thread 0 spins on a volatile flag in mapped memory. After a system fence and a barrier, the block reads the payload
// by plain loads.
// No public report.
#include <atomic>

#include "../bounded.cuh"

__global__ void consume(const int* flag, const int* payload, int* sum, long long most) {
  __shared__ bool ready;
  if (threadIdx.x == 0) {
    ready = appears(flag, 1, most);
    __threadfence_system();
  }
  __syncthreads();
  if (ready) atomicAdd(sum, payload[threadIdx.x]);
}

int main() {
  int *flag = mapped<int>(1), *payload = mapped<int>(256), *sum = on_device<int>(1);
  *flag = 0;
  cudaStream_t stream = new_stream();
  consume<<<1, 256, 0, stream>>>(flag, payload, sum, ticks(2));
  for (int i = 0; i < 256; ++i) payload[i] = 2 * i;
  std::atomic_thread_fence(std::memory_order_release);
  *static_cast<volatile int*>(flag) = 1;
  return finished();
}
