// The consumer spins on the producer's flag, but the producer is queued after it on the same stream.
// Related: https://github.com/NVIDIA/nccl/issues/783 (work that another one waits for does not start)
#include "../bounded.cuh"

__global__ void consume(const int* flag, int value, long long most) { appears(flag, value, most); }  // SPINS
__global__ void produce(int* flag) { atomicExch(flag, 1); }

int main() {
  int* flag = on_device<int>(2);
  cudaStream_t stream = new_stream();
  produce<<<1, 1, 0, stream>>>(flag + 1);
  consume<<<1, 1, 0, stream>>>(flag + 1, 1, ticks(8));
  cudaStreamSynchronize(stream);
  consume<<<1, 1, 0, stream>>>(flag, 1, ticks(8));  // STUCK
  produce<<<1, 1, 0, stream>>>(flag);
  cudaStreamSynchronize(stream);  // WAITS
  return finished();
}
