// The grid is sized for the largest frame, this frame is small, and there is no `if (i < n)`.
__global__ void brighten(float* frame, float by) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  frame[i] *= by;  // ACCESS
}

int main() {
  const size_t small = 1 << 20, largest = size_t(1) << 30;
  float* frame;
  cudaMalloc(&frame, small * sizeof(float));        // ALLOC
  brighten<<<largest / 1024, 1024>>>(frame, 1.5f);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
