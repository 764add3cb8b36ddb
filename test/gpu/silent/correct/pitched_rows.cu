// Two streams take every other row of an image with padded rows: their ranges interleave.
// No public report.
#include "../bounded.cuh"

__global__ void brighten(unsigned char* first_row, size_t row_step, int width, int rows) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
  if (x < width && row < rows) first_row[row * row_step + x] += 10;
}

int main() {
  const int width = 500, height = 200;
  unsigned char* image;
  size_t pitch;
  cudaMallocPitch(&image, &pitch, width, height);
  cudaMemset2D(image, pitch, 0, width, height);
  cudaDeviceSynchronize();
  const dim3 grid(4, height / 2);
  brighten<<<grid, 128, 0, new_stream()>>>(image, 2 * pitch, width, height / 2);
  brighten<<<grid, 128, 0, new_stream()>>>(image + pitch, 2 * pitch, width, height / 2);
  return finished();
}
