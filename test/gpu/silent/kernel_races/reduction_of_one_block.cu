// A tree reduction in global memory that was written for one block runs with several. All of them add up the same
// elements.
// Report: https://github.com/kaldi-asr/kaldi/issues/3036
#include "../bounded.cuh"

__global__ void reduce(float* buffer, int count) {
  float* mine = buffer + blockIdx.y * count;
  for (int half = count / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) mine[threadIdx.x] += mine[threadIdx.x + half];  // FIRST
    __syncthreads();
  }
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int count = 256, blocks = 4;
  float* buffer = numbered<float>(blocks * count);
  reduce<<<corrected ? dim3(1, blocks) : dim3(blocks, 1), count / 2>>>(buffer, count);  // LAUNCH
  return finished();
}
