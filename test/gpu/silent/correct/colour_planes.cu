// Interleaved colours: a stream for each of them writes every third byte.
// No public report.
#include "../bounded.cuh"

__global__ void adjust(unsigned char* pixels, int colour, int count, int by) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    pixels[3 * i + colour] += by;
  }
}

int main() {
  const int count = 320 * 240;
  unsigned char* pixels = on_device<unsigned char>(3 * count);
  for (int colour = 0; colour < 3; ++colour) adjust<<<40, 256, 0, new_stream()>>>(pixels, colour, count, 5 + colour);
  return finished();
}
