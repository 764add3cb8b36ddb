// Kernels read their settings from one mapped struct. The host changes the rate for the next launch in place.
// Related: https://github.com/lightseekorg/tokenspeed/pull/376
#include "../bounded.cuh"

struct Settings {
  int count;
  float decay;
  double rate;
};

__global__ void descend(const Settings* settings, double* weights) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= settings->count) return;
  weights[i] -= settings->rate * weights[i];  // READS
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  Settings* settings;
  cudaHostAlloc(&settings, sizeof *settings, cudaHostAllocMapped);
  *settings = {10'000, 0.5f, 0.1};
  double* weights = on_device<double>(10'000);
  cudaStream_t stream = new_stream();
  for (int step = 0; step < 4; ++step) {
    settings->rate = 0.1 / (step + 2);  // HOST
    busy<<<1, 1, 0, stream>>>(ticks(0.05));
    descend<<<40, 256, 0, stream>>>(settings, weights);  // LAUNCH
    if (corrected) cudaStreamSynchronize(stream);
  }
  return finished();
}
