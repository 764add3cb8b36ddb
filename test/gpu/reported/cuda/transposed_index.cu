// A wide image: the index of a pixel is computed as if x were the row.
__global__ void invert(float* image, size_t width, size_t height) {
  size_t x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= width || y >= height) return;
  float& pixel = image[x * width + y];
  pixel = 1 - pixel;  // ACCESS
}

int main() {
  const size_t width = 65536, height = 64;
  float* image;
  cudaMalloc(&image, width * height * sizeof(float));  // ALLOC
  cudaMemset(image, 0, width * height * sizeof(float));
  invert<<<dim3(width / 256, height), 256>>>(image, width, height);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
