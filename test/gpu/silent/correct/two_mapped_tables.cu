// Two tables in mapped memory take turns. The host writes one while kernels read the other, after that one's event.
// Pattern: https://github.com/vllm-project/vllm/pull/32083
#include "../bounded.cuh"

__global__ void gather(const int* offsets, const float* blocks, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = blocks[offsets[i] % 4096];
}

int main() {
  const int count = 4096;
  int* offsets[2] = {mapped<int>(count), mapped<int>(count)};
  cudaEvent_t read[2] = {new_event(), new_event()};
  float *blocks = on_device<float>(count), *out = on_device<float>(count);
  cudaStream_t stream = new_stream();
  for (int step = 0; step < 8; ++step) {
    const int turn = step % 2;
    cudaEventSynchronize(read[turn]);
    for (int i = 0; i < count; ++i) offsets[turn][i] = 5 * step + i;
    busy<<<1, 1, 0, stream>>>(ticks(0.01));
    gather<<<count / 256, 256, 0, stream>>>(offsets[turn], blocks, out);
    cudaEventRecord(read[turn], stream);
  }
  return finished();
}
