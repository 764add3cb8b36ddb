// A loader uploads an image and then normalises it in place for its own cache.
// Related: https://github.com/NVIDIA/DALI/pull/1493
#include "../bounded.cuh"

struct Image {
  float* pixels;
  int count;
};

static float mean(const Image& image) {
  double sum = 0;
  for (int i = 0; i < image.count; ++i) sum += image.pixels[i];
  return static_cast<float>(sum / image.count);
}

static void normalise(Image& image) {
  const float middle = mean(image);
  for (int i = 0; i < image.count; ++i) {
    image.pixels[i] = (image.pixels[i] - middle) / 255;  // HOST
  }
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  Image image{pinned<float>(48'000), 48'000};
  for (int i = 0; i < image.count; ++i) image.pixels[i] = static_cast<float>(i % 256);
  float* device = on_device<float>(image.count);
  cudaStream_t stream = new_stream();
  busy<<<1, 1, 0, stream>>>(ticks(0.2));
  cudaMemcpyAsync(device, image.pixels, image.count * sizeof(float), cudaMemcpyHostToDevice, stream);  // COPY
  if (corrected) cudaStreamSynchronize(stream);
  normalise(image);
  return finished();
}
