// A function captures the copy of a local variable and returns; each replay reads where the variable was.
// Report: https://github.com/PaddlePaddle/Paddle/pull/78568
#include "../bounded.cuh"

__global__ void multiply(float* values, const float* by) { values[threadIdx.x] *= *by; }

static float kept;

static __attribute__((noinline)) cudaGraphExec_t record(float* values, float* on_gpu, float rate, cudaStream_t stream,
                                                        bool corrected) {
  float scale = 1.0f / rate;
  if (corrected) kept = scale;
  return captured(stream, [&] {
    cudaMemcpyAsync(on_gpu, corrected ? &kept : &scale, sizeof scale, cudaMemcpyHostToDevice, stream);  // CAPTURE
    multiply<<<1, 256, 0, stream>>>(values, on_gpu);
  });
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  float *values = on_device<float>(256), *on_gpu = on_device<float>(1);
  cudaStream_t stream = new_stream();
  cudaGraphExec_t step = record(values, on_gpu, 8, stream, corrected);
  for (int k = 0; k < 3; ++k) {
    cudaGraphLaunch(step, stream);  // REPLAY
    cudaStreamSynchronize(stream);
  }
  return finished();
}
