// Two streams work on the left and the right part of an image; the left part is one column too wide.
// Related: https://github.com/NVIDIA/cudf-spark-jni/issues/4590
#include "../bounded.cuh"

__global__ void brighten(unsigned char* image, int pitch, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) image[y * pitch + x] += 16;
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int pitch = 640, height = 480, middle = pitch / 2;
  unsigned char* image = on_device<unsigned char>(pitch * height);
  cudaStream_t left = new_stream(), right = new_stream();
  const dim3 block(32, 8), grid(middle / 32 + 1, height / 8);
  brighten<<<grid, block, 0, left>>>(image, pitch, corrected ? middle : middle + 1, height);  // FIRST
  brighten<<<grid, block, 0, right>>>(image + middle, pitch, middle, height);                 // SECOND
  return finished();
}
