// A buffer of 5 GiB with an index of 64 bits, whose upper part is used, too. The program succeeds.
__global__ void touch(signed char* buffer, long long rows, long long width) {
  for (long long row = blockIdx.x; row < rows; row += gridDim.x)
    for (long long i = threadIdx.x; i < width; i += blockDim.x) buffer[row * width + i] = 1;
}

int main() {
  const long long rows = 5 << 10, width = 1 << 20;
  signed char *buffer, last = 0;
  if (cudaMalloc(&buffer, rows * width) != cudaSuccess) return 77;
  touch<<<1024, 256>>>(buffer, rows, width);
  cudaMemcpy(&last, buffer + rows * width - 1, 1, cudaMemcpyDeviceToHost);
  return last != 1;
}
