// Folding with an absurd padding that nobody checks: the offset wraps around in 64 bits.
__global__ void fold(const float* columns, float* image, long long width, long long padding, long long stride) {
  long long x = threadIdx.x;
  long long column = (x + padding) / stride * width;
  image[x] = columns[column];  // ACCESS
}

int main() {
  float *columns, *image;
  cudaMalloc(&columns, 1 << 20);
  cudaMalloc(&image, 1 << 20);
  fold<<<1, 64>>>(columns, image, 100, 1, 2);
  fold<<<1, 64>>>(columns, image, 100, (1LL << 56) + 12345, 1);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
