// The offsets of a batch's cache blocks lie in one of two halves of a pinned table. The host waits for the batch that
// is four steps older, but a half is needed again after two.
// Related: https://github.com/NVIDIA/TensorRT-LLM/pull/15546
#include "../bounded.cuh"

__global__ void gather(const int* offsets, const float* blocks, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = blocks[offsets[i] % count];
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int age = corrected ? 2 : 4;
  const int half = 8192;
  int *table = pinned<int>(2 * half), *offsets = on_device<int>(half);
  float *blocks = on_device<float>(half), *out = on_device<float>(half);
  cudaStream_t stream = new_stream();
  cudaEvent_t done[4] = {new_event(), new_event(), new_event(), new_event()};
  cudaGraphExec_t batch[2];
  for (int k = 0; k < 2; ++k) {
    batch[k] = captured(stream, [&] {
      cudaMemcpyAsync(offsets, table + k * half, half * sizeof(int), cudaMemcpyHostToDevice, stream);  // CAPTURE
      gather<<<half / 256, 256, 0, stream>>>(offsets, blocks, out, half);
    });
  }
  for (int step = 0; step < 6; ++step) {
    cudaEventSynchronize(done[(step + 4 - age) % 4]);
    for (int i = 0; i < half; ++i) table[step % 2 * half + i] = 7 * step + i;  // HOST
    busy<<<1, 1, 0, stream>>>(ticks(0.05));
    cudaGraphLaunch(batch[step % 2], stream);  // REPLAY
    cudaEventRecord(done[step % 4], stream);
  }
  return finished();
}
