// A kernel writes its result into pinned memory that was freed.
__global__ void report(int* flag) { *flag = 1; }  // ACCESS

int main() {
  int *flag, *kept;
  cudaMallocHost(&flag, 64 << 20);  // ALLOC
  cudaMalloc(&kept, 4096);
  report<<<1, 1>>>(kept);
  report<<<1, 1>>>(flag);
  cudaDeviceSynchronize();
  cudaFreeHost(flag);      // FREED
  report<<<1, 1>>>(flag);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
