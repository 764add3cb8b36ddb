// Each call of a function captures the copy of its local struct. All of them lie at one address of the stack, so that
// every layer of a replay gets the same bytes.
// Related: https://github.com/PaddlePaddle/Paddle/pull/78568
#include "../bounded.cuh"

struct Layer {
  int inputs, outputs;
  float dropout, epsilon;
};

static const int layers = 6;
static Layer kept[layers];

__global__ void forward(const Layer* layer, float* values) {
  if (threadIdx.x < layer->outputs % 256u) values[threadIdx.x] *= 1 - layer->dropout;
}

static __attribute__((noinline)) void issue(int number, Layer* on_gpu, float* values, cudaStream_t stream,
                                            bool corrected) {
  Layer layer{64 << number % 3, 32 << number % 3, 0.1f * number, 1e-5f};
  kept[number] = layer;
  Layer* source = corrected ? &kept[number] : &layer;
  cudaMemcpyAsync(on_gpu + number, source, sizeof layer, cudaMemcpyHostToDevice, stream);  // CAPTURE
  forward<<<1, 256, 0, stream>>>(on_gpu + number, values);
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  Layer* on_gpu = on_device<Layer>(layers);
  float* values = on_device<float>(256);
  cudaStream_t stream = new_stream();
  cudaGraphExec_t step = captured(stream, [&] {
    for (int k = 0; k < layers; ++k) issue(k, on_gpu, values, stream, corrected);
  });
  for (int k = 0; k < 2; ++k) cudaGraphLaunch(step, stream);  // REPLAY
  return finished();
}
