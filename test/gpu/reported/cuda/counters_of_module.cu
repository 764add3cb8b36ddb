// The counters are an array of the module with a fixed size; the categories of newer data are much larger numbers.
__device__ unsigned counters[4096];

__global__ void number(int* categories, int n, int step) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) categories[i] = i % 4096 * step;
}

__global__ void count(const int* categories, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&counters[categories[i]], 1);  // ACCESS
}

bool run(int* categories, int n, int step) {
  number<<<n / 256, 256>>>(categories, n, step);
  count<<<n / 256, 256>>>(categories, n);  // LAUNCH
  return cudaDeviceSynchronize() == cudaSuccess;
}

int main() {
  const int n = 1 << 16;
  int* categories;
  cudaMalloc(&categories, n * sizeof(int));
  if (!run(categories, n, 1)) return 77;
  return run(categories, n, 1 << 18) ? 0 : 1;
}
