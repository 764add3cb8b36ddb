// A worker thread captures the graph. The table that it copies was on the worker's stack, and the worker has ended.
// Related: https://github.com/microsoft/onnxruntime/pull/32121
#include <cstring>
#include <thread>

#include "../bounded.cuh"

static unsigned short kept[512];

__global__ void look_up(const unsigned short* table, int* out) { out[threadIdx.x] = table[threadIdx.x * 5 % 512]; }

static void record(cudaGraphExec_t* step, unsigned short* on_gpu, int* out, cudaStream_t stream, bool corrected) {
  unsigned short codes[512];
  for (int i = 0; i < 512; ++i) codes[i] = static_cast<unsigned short>(i * i);
  if (corrected) memcpy(kept, codes, sizeof kept);
  *step = captured(stream, [&] {
    cudaMemcpyAsync(on_gpu, corrected ? kept : codes, sizeof codes, cudaMemcpyHostToDevice, stream);  // CAPTURE
    look_up<<<1, 256, 0, stream>>>(on_gpu, out);
  });
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  unsigned short* on_gpu = on_device<unsigned short>(512);
  int* out = on_device<int>(256);
  cudaStream_t stream = new_stream();
  cudaGraphExec_t step;
  std::thread(record, &step, on_gpu, out, stream, corrected).join();
  cudaGraphLaunch(step, stream);  // REPLAY
  return finished();
}
