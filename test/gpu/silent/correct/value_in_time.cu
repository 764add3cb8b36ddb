// A stream waits for a word that another stream writes a second later.
// Pattern: https://forums.developer.nvidia.com/t/deadlock-when-using-custreamwaitvalue32-custreamwritevalue32-for-async-cross-stream-ordering/353972
#include <cuda.h>

#include "../bounded.cuh"

int main() {
  unsigned* word;
  cudaHostAlloc(&word, sizeof *word, cudaHostAllocMapped);
  *word = 0;
  CUdeviceptr address;
  cuMemHostGetDevicePointer(&address, word, 0);
  int* memory = on_device<int>(64);
  cudaStream_t waiting = new_stream(), writing = new_stream();
  busy<<<1, 1, 0, writing>>>(ticks(1));
  cuStreamWriteValue32(writing, address, 1, 0);
  cuStreamWaitValue32(waiting, address, 1, CU_STREAM_WAIT_VALUE_GEQ);
  cudaMemsetAsync(memory, 0, 256, waiting);
  cudaStreamSynchronize(waiting);
  return finished();
}
