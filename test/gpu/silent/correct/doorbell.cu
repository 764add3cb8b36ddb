// A kernel waits for a doorbell in mapped memory, then reads the command beside it. The host writes the command first.
// Pattern: https://github.com/NVIDIA/libcudacxx (system-scope release and acquire)
#include <cuda/atomic>

#include "../bounded.cuh"

using Bell = cuda::atomic<int, cuda::thread_scope_system>;

struct Command {
  int kind, words[30];
};

__global__ void serve(Bell* bell, const Command* command, int* sum, long long most) {
  for (long long start = clock64(); bell->load(cuda::memory_order_acquire) == 0;) {
    if (clock64() - start > most) return;
  }
  for (int i = 0; i < 30; ++i) *sum += command->words[i];
}

int main() {
  void *bell_memory, *command_memory;
  cudaHostAlloc(&bell_memory, sizeof(Bell), cudaHostAllocMapped);
  cudaHostAlloc(&command_memory, sizeof(Command), cudaHostAllocMapped);
  Bell* bell = new (bell_memory) Bell(0);
  Command* command = new (command_memory) Command{};
  int* sum = on_device<int>(1);
  cudaStream_t stream = new_stream();
  serve<<<1, 1, 0, stream>>>(bell, command, sum, ticks(2));
  for (int i = 0; i < 30; ++i) command->words[i] = i;
  bell->store(1, cuda::memory_order_release);
  return finished();
}
