// The table of a concatenation's inputs is a local array; the replay copies it after the function has returned.
// Report: https://github.com/PaddlePaddle/Paddle/pull/37774
#include <cstring>

#include "../bounded.cuh"

static const int parts = 12, length = 128;

struct Part {
  unsigned first, count;
};

static Part kept[parts];

__global__ void concatenate(const Part* table, const float* in, float* out) {
  const Part part = table[blockIdx.x];
  if (threadIdx.x < part.count) out[blockIdx.x * length + threadIdx.x] = in[(part.first + threadIdx.x) % 4096];
}

static __attribute__((noinline)) void issue(Part* table, const float* in, float* out, cudaStream_t stream,
                                            bool corrected) {
  Part inputs[parts];
  for (unsigned k = 0; k < parts; ++k) inputs[k] = {300 * k, length - k};
  if (corrected) memcpy(kept, inputs, sizeof kept);
  cudaMemcpyAsync(table, corrected ? kept : inputs, sizeof inputs, cudaMemcpyHostToDevice, stream);  // CAPTURE
  concatenate<<<parts, length, 0, stream>>>(table, in, out);
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  Part* table = on_device<Part>(parts);
  float *in = on_device<float>(4096), *out = on_device<float>(parts * length);
  cudaStream_t stream = new_stream();
  cudaGraphExec_t step = captured(stream, [&] { issue(table, in, out, stream, corrected); });
  cudaGraphLaunch(step, stream);  // REPLAY
  return finished();
}
