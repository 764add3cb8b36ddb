// A mailbox of one slot: the kernel acknowledges each message, and the host waits for that before it writes the next.
// The flags are loaded and stored by PTX at system scope.
// No public report.
#include <atomic>
#include <thread>

#include "../bounded.cuh"

struct Mailbox {
  unsigned sent, taken;
  float message[64];
};

__device__ unsigned load_acquire(const unsigned* word) {
  unsigned value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}

__device__ void store_release(unsigned* word, unsigned value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

__global__ void receive(Mailbox* box, float* sums, unsigned messages, long long most) {
  const long long start = clock64();
  for (unsigned k = 1; k <= messages; ++k) {
    while (load_acquire(&box->sent) < k) {
      if (clock64() - start > most) return;
    }
    for (int i = 0; i < 64; ++i) sums[k - 1] += box->message[i];
    store_release(&box->taken, k);
  }
}

int main() {
  const unsigned messages = 50;
  Mailbox* box;
  cudaHostAlloc(&box, sizeof *box, cudaHostAllocMapped);
  *box = {};
  float* sums = on_device<float>(messages);
  cudaStream_t stream = new_stream();
  receive<<<1, 1, 0, stream>>>(box, sums, messages, ticks(2));
  for (unsigned k = 1; k <= messages; ++k) {
    while (__atomic_load_n(&box->taken, __ATOMIC_ACQUIRE) < k - 1) {
      if (cudaStreamQuery(stream) != cudaErrorNotReady) return finished();
      std::this_thread::yield();
    }
    for (int i = 0; i < 64; ++i) box->message[i] = 0.5f * k + i;
    __atomic_store_n(&box->sent, k, __ATOMIC_RELEASE);
  }
  return finished();
}
