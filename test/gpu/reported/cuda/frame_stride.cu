// Frames are copied to the device with the stride of their buffer; some frames give the stride in pixels.
#include <vector>

struct Frame {
  std::vector<unsigned> pixels;
  size_t width, height, stride;
};

bool upload(const Frame& frame, void* to, size_t pitch) {
  return cudaMemcpy2D(to, pitch, frame.pixels.data(), frame.stride, frame.width * sizeof(unsigned),  // LAUNCH
                      frame.height, cudaMemcpyHostToDevice) == cudaSuccess;                          // LAUNCH
}

int main() {
  const size_t width = 1920, height = 1080;
  void* image;
  size_t pitch;
  if (cudaMallocPitch(&image, &pitch, width * sizeof(unsigned), height) != cudaSuccess) return 77;
  Frame first{std::vector<unsigned>(width * height), width, height, width * sizeof(unsigned)};
  if (!upload(first, image, pitch)) return 77;
  Frame second{std::vector<unsigned>(width * height), width, height, width};
  return upload(second, image, pitch) ? 0 : 1;
}
