// A kernel gathers cache blocks by a table in mapped memory. The host writes the next batch's table before the kernel
// of this batch has run.
// Report: https://github.com/NVIDIA/TensorRT-LLM/pull/16088
#include "../bounded.cuh"

__global__ void gather(const int* offsets, const float* blocks, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = blocks[offsets[i] % count];  // READS
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int count = 4096;
  int* offsets = mapped<int>(count);
  float *blocks = on_device<float>(count), *out = on_device<float>(count);
  cudaStream_t stream = new_stream();
  cudaEvent_t gathered = new_event();
  busy<<<1, 1, 0, stream>>>(ticks(0.2));
  for (int batch = 0; batch < 3; ++batch) {
    if (corrected) cudaEventSynchronize(gathered);
    for (int i = 0; i < count; ++i) offsets[i] = 31 * batch + i;           // HOST
    gather<<<count / 256, 256, 0, stream>>>(offsets, blocks, out, count);  // LAUNCH
    cudaEventRecord(gathered, stream);
  }
  return finished();
}
