// The kernel also processes a padding row that this image does not have.
// Report: https://github.com/ORNL/HeCBench/issues/257 (a kernel reads outside its allocation)
#include "../bounded.cuh"

__global__ void threshold(const unsigned char* image, unsigned char* mask, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height && image[y * width + x] > 127) mask[x] = 1;  // ACCESS
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int width = 200, height = 150;
  unsigned char *image, *mask = on_device<unsigned char>(width);
  cudaMalloc(&image, width * height);  // ALLOC
  cudaMemset(image, 0, width * height);
  const dim3 block(32, 8), grid(7, 20);
  threshold<<<grid, block>>>(image, mask, width, corrected ? height : height + 1);  // OUT
  return finished();
}
