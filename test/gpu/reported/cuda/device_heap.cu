// Lists from malloc in a kernel: the device heap is too small, and the next kernel writes to a null list.
__global__ void make_lists(int** lists, int capacity) {
  int cell = blockIdx.x * blockDim.x + threadIdx.x;
  lists[cell] = static_cast<int*>(malloc(capacity * sizeof(int)));
}

__global__ void fill_lists(int** lists, int capacity) {
  int cell = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = 0; i < capacity; i++) lists[cell][i] = cell;  // ACCESS
}

int main() {
  const int cells = 4096, capacity = 4096;
  int** lists;
  cudaMalloc(&lists, cells * sizeof(int*));
  cudaDeviceSetLimit(cudaLimitMallocHeapSize, 8 << 20);
  make_lists<<<cells / 128, 128>>>(lists, capacity);
  fill_lists<<<cells / 128, 128>>>(lists, capacity);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
