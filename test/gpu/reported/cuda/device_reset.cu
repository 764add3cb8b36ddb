// A clean-up function resets the device; a buffer from before the reset is used again.
__global__ void advance(float* state, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) state[i] += 1;  // ACCESS
}

void clean_up() {
  cudaDeviceSynchronize();
  cudaDeviceReset();  // FREED
}

int main() {
  const int n = 16 << 20;
  float* state;
  cudaMalloc(&state, n * sizeof(float));  // ALLOC
  cudaMemset(state, 0, n * sizeof(float));
  advance<<<256, 256>>>(state, n);
  clean_up();
  advance<<<256, 256>>>(state, n);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
