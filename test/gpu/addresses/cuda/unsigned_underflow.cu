// i - 1 with an unsigned i of 0 is 4294967295: 16 GiB past the array, not four bytes before it.
__global__ void difference(const float* field, float* slope, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) slope[i] = field[i] - field[i - 1];  // ACCESS
}

int main() {
  const unsigned n = 1 << 24;
  float *field, *slope;
  cudaMalloc(&field, n * sizeof(float));  // ALLOC
  cudaMalloc(&slope, n * sizeof(float));
  difference<<<n / 256, 256>>>(field, slope, n);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
