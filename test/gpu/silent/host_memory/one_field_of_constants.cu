// A graph copies a struct to constant memory. The host changes one field for the next replay while this one is queued.
// Related: https://github.com/vllm-project/vllm/pull/25279
#include "../bounded.cuh"

struct Schedule {
  int first, last;
  float rates[60];
  float momentum, decay;
};

__constant__ Schedule current;

__global__ void update(float* weights) { weights[threadIdx.x] -= current.rates[threadIdx.x % 60] * current.decay; }

int main(int argc, char**) {
  const bool corrected = argc > 1;
  Schedule* schedule;
  cudaHostAlloc(&schedule, sizeof *schedule, cudaHostAllocDefault);
  *schedule = {0, 60, {}, 0.9f, 0.01f};
  float* weights = on_device<float>(256);
  cudaStream_t stream = new_stream();
  update<<<1, 256, 0, stream>>>(weights);
  cudaGraphExec_t step = captured(stream, [&] {
    cudaMemcpyToSymbolAsync(current, schedule, sizeof *schedule, 0, cudaMemcpyHostToDevice, stream);  // CAPTURE
    update<<<1, 256, 0, stream>>>(weights);
  });
  for (int k = 0; k < 3; ++k) {
    busy<<<1, 1, 0, stream>>>(ticks(0.05));
    cudaGraphLaunch(step, stream);  // REPLAY
    if (corrected) cudaStreamSynchronize(stream);
    schedule->momentum = 0.5f - 0.125f * k;  // HOST
  }
  return finished();
}
