// The pitch of cudaMallocPitch is in bytes; the kernel adds it to a float pointer.
__global__ void clear_image(float* image, size_t pitch, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < width && y < height) image[y * pitch + x] = 0;  // ACCESS
}

int main() {
  const int width = 16384, height = 16384;
  float* image;
  size_t pitch;
  cudaMallocPitch(&image, &pitch, width * sizeof(float), height);                // ALLOC
  clear_image<<<dim3(width / 256, height), 256>>>(image, pitch, width, height);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
