// A stencil reads plane z - 1 even if z is 0.
__global__ void correlate(const float* volume, float* rows, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y, z = blockIdx.z;
  long long plane = (long long)width * height, at = z * plane + (long long)y * width + x;
  atomicAdd(&rows[z * height + y], volume[at] * volume[at - plane]);  // ACCESS
}

int main() {
  const int width = 16384, height = 16384, depth = 2;
  float *volume, *rows;
  cudaMalloc(&rows, height * depth * sizeof(float));
  cudaMalloc(&volume, size_t(width) * height * depth * sizeof(float));  // ALLOC
  correlate<<<1, 256>>>(volume + size_t(width) * height, rows, width, height);
  correlate<<<dim3(width / 256, height, depth), 256>>>(volume, rows, width, height);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
