// Sizes and strides of a tensor are put into a vector, whose copy is captured. The vector ends with the function.
// Report: https://github.com/huggingface/candle/pull/3352
#include <vector>

#include "../bounded.cuh"

__global__ void strided(const size_t* shape, const float* in, float* out) {
  const size_t i = threadIdx.x, columns = shape[1] % 256 + 1, stride = shape[2] % 256;
  out[i] = in[(i / columns * stride + i % columns) % 4096];
}

static std::vector<std::vector<size_t>> kept;

static __attribute__((noinline)) cudaGraphExec_t record(size_t* shape, float* in, float* out, cudaStream_t stream,
                                                        bool corrected) {
  std::vector<size_t> layout = {16, 16, 64, 1};
  cudaGraphExec_t step = captured(stream, [&] {
    cudaMemcpyAsync(shape, layout.data(), 4 * sizeof(size_t), cudaMemcpyHostToDevice, stream);  // CAPTURE
    strided<<<1, 256, 0, stream>>>(shape, in, out);
  });
  if (corrected) kept.push_back(std::move(layout));
  return step;
}  // HOST

int main(int argc, char**) {
  const bool corrected = argc > 1;
  size_t* shape = on_device<size_t>(4);
  float *in = on_device<float>(4096), *out = on_device<float>(256);
  cudaStream_t stream = new_stream();
  cudaGraphExec_t step = record(shape, in, out, stream, corrected);
  for (int k = 0; k < 3; ++k) cudaGraphLaunch(step, stream);  // REPLAY
  return finished();
}
