// Each request has a row of prompt tokens in mapped memory. A new request takes the row of one that has ended, though a
// kernel that reads all rows is still queued.
// Related: https://github.com/vllm-project/vllm/pull/32083
#include "../bounded.cuh"

static const int rows = 8, length = 512;

__global__ void prepare(const int* prompts, const int* positions, int* next) {
  const int row = threadIdx.x;
  next[row] = prompts[row * length + positions[row] % length];  // READS
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  int* prompts = mapped<int>(rows * length);
  int *positions = on_device<int>(rows), *next = on_device<int>(rows);
  cudaStream_t stream = new_stream();
  busy<<<1, 1, 0, stream>>>(ticks(0.2));
  prepare<<<1, rows, 0, stream>>>(prompts, positions, next);  // LAUNCH
  if (corrected) cudaStreamSynchronize(stream);
  for (int i = 0; i < length; ++i) prompts[3 * length + i] = 1000 + i;  // HOST
  return finished();
}
