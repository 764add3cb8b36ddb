// A vector gets one more element after the copy of its elements was captured; its old block is freed.
// Related: https://github.com/huggingface/candle/pull/3352
#include <vector>

#include "../bounded.cuh"

__global__ void sum(const int* counts, int count, int* total) {
  if (threadIdx.x < count) atomicAdd(total, counts[threadIdx.x]);
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  std::vector<int> counts;
  counts.reserve(corrected ? 600 : 500);
  for (int i = 0; i < 500; ++i) counts.push_back(i);
  int *on_gpu = on_device<int>(500), *total = on_device<int>(1);
  cudaStream_t stream = new_stream();
  cudaGraphExec_t step = captured(stream, [&] {
    cudaMemcpyAsync(on_gpu, counts.data(), 500 * sizeof(int), cudaMemcpyHostToDevice, stream);  // CAPTURE
    sum<<<1, 512, 0, stream>>>(on_gpu, 500, total);
  });
  cudaGraphLaunch(step, stream);
  cudaStreamSynchronize(stream);
  counts.push_back(500);          // HOST
  cudaGraphLaunch(step, stream);  // REPLAY
  return finished();
}
