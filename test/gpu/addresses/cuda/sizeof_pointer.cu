// sizeof of a pointer instead of the array: eight bytes are allocated.
__global__ void set_flags(int* flags, size_t n) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x)
    flags[i] = -1;  // ACCESS
}

int main() {
  const size_t n = size_t(1) << 30;
  int* flags;
  cudaMalloc(&flags, sizeof flags);     // ALLOC
  set_flags<<<1024, 1024>>>(flags, n);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
