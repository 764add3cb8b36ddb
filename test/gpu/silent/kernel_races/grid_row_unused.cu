// A kernel is launched with a row of blocks for each image, but takes the image from the wrong index. All rows of
// blocks write to the first images.
// Related: https://github.com/kaldi-asr/kaldi/issues/3036 (more blocks than the kernel was written for)
#include "../bounded.cuh"

__global__ void brighten(const float* in, float* out, int pixels, int image_step) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, image = blockIdx.y * image_step + blockIdx.z;
  if (i < pixels) out[image * pixels + i] = in[image * pixels + i] + blockIdx.y;  // FIRST
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int pixels = 1000, images = 6;
  float *in = numbered<float>(images * pixels), *out = on_device<float>(images * pixels);
  brighten<<<dim3(4, images), 256>>>(in, out, pixels, corrected ? 1 : 0);  // LAUNCH
  return finished();
}
