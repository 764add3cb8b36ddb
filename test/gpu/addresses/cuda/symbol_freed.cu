// A __device__ pointer still points to a freed scratch buffer; the kernel has no pointer parameter.
__device__ float* scratch;

__global__ void clear_scratch(int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) scratch[i] = 0;  // ACCESS
}

int main() {
  float* buffer;
  cudaMalloc(&buffer, 128 << 20);  // ALLOC
  cudaMemcpyToSymbol(scratch, &buffer, sizeof buffer);
  clear_scratch<<<1, 256>>>(4096);
  cudaDeviceSynchronize();
  cudaFree(buffer);                 // FREED
  clear_scratch<<<1, 256>>>(4096);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
