// The host updates a record under a sequence lock; the kernel reads it again if the number has changed or is odd.
// Pattern: https://github.com/NVIDIA/libcudacxx (system-scope release and acquire)
#include <cuda/atomic>

#include "../bounded.cuh"

using Word = cuda::atomic<int, cuda::thread_scope_system>;

struct Record {
  Word number{0}, left{0}, right{0};
};

__global__ void watch(Record* record, int* sums, int rounds, int tries) {
  for (int round = 0; round < rounds; ++round) {
    for (int k = 0; k < tries; ++k) {
      const int before = record->number.load(cuda::memory_order_acquire);
      const int left = record->left.load(cuda::memory_order_relaxed);
      const int right = record->right.load(cuda::memory_order_relaxed);
      cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_system);
      if (before % 2 == 0 && record->number.load(cuda::memory_order_relaxed) == before) {
        sums[round] = left + right;
        break;
      }
    }
  }
}

int main() {
  void* memory;
  cudaHostAlloc(&memory, sizeof(Record), cudaHostAllocMapped);
  Record* record = new (memory) Record;
  const int rounds = 200;
  int* sums = on_device<int>(rounds);
  cudaStream_t stream = new_stream();
  watch<<<1, 1, 0, stream>>>(record, sums, rounds, 1000);
  for (int k = 1; k < 1000; ++k) {
    record->number.store(2 * k - 1, cuda::memory_order_relaxed);
    cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_system);
    record->left.store(k, cuda::memory_order_relaxed);
    record->right.store(-k, cuda::memory_order_relaxed);
    record->number.store(2 * k, cuda::memory_order_release);
  }
  return finished();
}
