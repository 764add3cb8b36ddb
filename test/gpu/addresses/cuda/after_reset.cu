// cudaDeviceReset frees all memory; an older pointer is used in the new context.
__global__ void count(int* counters) { counters[threadIdx.x] += 1; }  // ACCESS

int main() {
  int *kept, *fresh;
  cudaMalloc(&kept, 512 << 20);  // ALLOC
  count<<<1, 32>>>(kept);
  cudaDeviceSynchronize();
  cudaDeviceReset();  // FREED
  cudaMalloc(&fresh, 4096);
  count<<<1, 32>>>(fresh);
  count<<<1, 32>>>(kept + (96 << 20));  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
