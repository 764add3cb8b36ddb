// A cache is refilled from the start of a chunk, rounded down: this also rewrites the blocks of the common prefix,
// while another stream reads them. Report: https://github.com/LMCache/LMCache/pull/2671
#include "../bounded.cuh"

__global__ void attend(const float* cache, float* out, int tokens, int width) {
  float sum = 0;
  for (int token = 0; token < tokens; ++token) sum += cache[token * width + threadIdx.x];
  out[threadIdx.x] = sum;
}

__global__ void retrieve(float* cache, const float* stored, int skip, int tokens, int width) {
  const int token = skip + blockIdx.x;
  if (token < tokens) cache[token * width + threadIdx.x] = stored[token * width + threadIdx.x];
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int width = 128, tokens = 256, prefix = 80, chunk = 64;
  float *cache = on_device<float>(tokens * width), *stored = on_device<float>(tokens * width);
  float* out = on_device<float>(width);
  cudaStream_t model = new_stream(), server = new_stream();
  const int skip = corrected ? prefix : prefix / chunk * chunk;
  attend<<<1, width, 0, model>>>(cache, out, prefix, width);                          // FIRST
  retrieve<<<tokens - skip, width, 0, server>>>(cache, stored, skip, tokens, width);  // SECOND
  return finished();
}
