// A persistent kernel takes commands out of a ring in mapped memory. Head and tail are atomic at system scope, the
// slots are read by plain loads.
// Pattern: https://github.com/NVIDIA/libcudacxx (system-scope release and acquire)
#include <cuda/atomic>
#include <thread>

#include "../bounded.cuh"

using Index = cuda::atomic<unsigned, cuda::thread_scope_system>;

static const unsigned slots = 8, commands = 100;

struct Ring {
  Index head{0}, tail{0};
  unsigned values[slots][16] = {};
};

__global__ void work(Ring* ring, unsigned* sum, long long most) {
  const long long start = clock64();
  for (unsigned tail = 0; tail < commands; ++tail) {
    while (ring->head.load(cuda::memory_order_acquire) == tail) {
      if (clock64() - start > most) return;
    }
    for (int i = 0; i < 16; ++i) *sum += ring->values[tail % slots][i];
    ring->tail.store(tail + 1, cuda::memory_order_release);
  }
}

int main() {
  void* memory;
  cudaHostAlloc(&memory, sizeof(Ring), cudaHostAllocMapped);
  Ring* ring = new (memory) Ring;
  unsigned* sum = on_device<unsigned>(1);
  cudaStream_t stream = new_stream();
  work<<<1, 1, 0, stream>>>(ring, sum, ticks(2));
  for (unsigned head = 0; head < commands; ++head) {
    while (head - ring->tail.load(cuda::memory_order_acquire) == slots) {
      if (cudaStreamQuery(stream) != cudaErrorNotReady) return finished();
      std::this_thread::yield();
    }
    for (int i = 0; i < 16; ++i) ring->values[head % slots][i] = head + i;
    ring->head.store(head + 1, cuda::memory_order_release);
  }
  return finished();
}
