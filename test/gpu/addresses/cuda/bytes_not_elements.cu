// cudaMalloc takes a number of bytes, but gets the number of elements.
__global__ void start_bodies(double* mass, size_t bodies) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i < bodies) mass[i] = 1;  // ACCESS
}

int main() {
  const size_t bodies = 1 << 28;
  double* mass;
  cudaMalloc(&mass, bodies);                          // ALLOC
  start_bodies<<<bodies / 256, 256>>>(mass, bodies);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
