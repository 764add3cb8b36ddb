// z <= depth: one plane of 1 GiB too many.
__global__ void zero_planes(float* volume, int depth, size_t plane) {
  for (int z = 0; z <= depth; ++z) {
    size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    if (i < plane) volume[z * plane + i] = 0;  // ACCESS
  }
}

int main() {
  const int depth = 3;
  const size_t plane = 1 << 28;
  float* volume;
  cudaMalloc(&volume, depth * plane * sizeof(float));         // ALLOC
  zero_planes<<<plane / 1024, 1024>>>(volume, depth, plane);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
