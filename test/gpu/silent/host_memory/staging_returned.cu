// An operator returns its staging block to a pool as soon as its copy is captured. While a replay is still queued,
// another operator takes the block and fills it.
// Report: https://github.com/microsoft/onnxruntime/pull/32121
#include <vector>

#include "../bounded.cuh"

static const int count = 1024;
static std::vector<int*> pool;

static int* take() {
  if (pool.empty()) return pinned<int>(count);
  int* block = pool.back();
  pool.pop_back();
  return block;
}

__global__ void concatenate(const int* starts, const float* in, float* out) {
  out[threadIdx.x] = in[starts[threadIdx.x] % count];
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  int* starts = on_device<int>(count);
  float *in = on_device<float>(count), *out = on_device<float>(count);
  cudaStream_t stream = new_stream();
  cudaGraphExec_t decode = captured(stream, [&] {
    int* block = take();
    for (int i = 0; i < count; ++i) block[i] = count - i;
    cudaMemcpyAsync(starts, block, count * sizeof(int), cudaMemcpyHostToDevice, stream);  // CAPTURE
    concatenate<<<1, count, 0, stream>>>(starts, in, out);
    if (!corrected) pool.push_back(block);
  });
  busy<<<1, 1, 0, stream>>>(ticks(0.2));
  cudaGraphLaunch(decode, stream);  // REPLAY
  int* prompt = take();
  for (int i = 0; i < count; ++i) prompt[i] = 3 * i + 5;  // HOST
  return finished();
}
