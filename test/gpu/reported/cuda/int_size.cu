// The size of a volume in bytes is kept in 32 bits, so the allocation is far too small.
__global__ void fill(float* volume, size_t n, float value) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x)
    volume[i] = value;  // ACCESS
}

float* new_volume(size_t voxels) {
  unsigned bytes = voxels * sizeof(float);
  float* volume = nullptr;
  cudaMalloc(&volume, bytes);  // ALLOC
  return volume;
}

int main() {
  const size_t voxels = size_t(1025) * 1024 * 1024;
  float* volume = new_volume(voxels);
  fill<<<4096, 256>>>(volume, voxels, 1.0f);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
