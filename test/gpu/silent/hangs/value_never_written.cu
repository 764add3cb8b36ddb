// A stream waits for a word that is written only after the host has seen the stream finish (a thread writes it after 8
// s).
// Report: https://forums.developer.nvidia.com/t/deadlock-when-using-custreamwaitvalue32-custreamwritevalue32-for-async-cross-stream-ordering/353972
#include <cuda.h>

#include <chrono>
#include <thread>

#include "../bounded.cuh"

int main() {
  unsigned* word;
  cudaHostAlloc(&word, sizeof *word, cudaHostAllocMapped);
  *word = 0;
  int* memory = on_device<int>(1);
  CUdeviceptr address;
  cuMemHostGetDevicePointer(&address, word, 0);
  cudaStream_t user = new_stream(), internal = new_stream();
  std::thread bound([word] {
    std::this_thread::sleep_for(std::chrono::seconds(8));
    *static_cast<volatile unsigned*>(word) = 1;
  });
  cuStreamWaitValue32(user, address, 1, CU_STREAM_WAIT_VALUE_GEQ);  // STUCK
  cudaMemsetAsync(memory, 0, sizeof *memory, user);
  cudaStreamSynchronize(user);  // WAITS
  cuStreamWriteValue32(internal, address, 1, 0);
  bound.join();
  return finished();
}
