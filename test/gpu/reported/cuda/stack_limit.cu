// For deep recursion, a program asks for a gigabyte of stack for each thread.
__device__ int depth_of(const int* children, int node, int depth) {
  return depth < 8 && children[node] ? depth_of(children, children[node], depth + 1) : depth;
}

__global__ void depths(const int* children, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = depth_of(children, i, 0);
}

bool run(const int* children, int* out, int n, size_t stack) {
  if (cudaDeviceSetLimit(cudaLimitStackSize, stack) != cudaSuccess) return false;  // LAUNCH
  depths<<<n / 256, 256>>>(children, out, n);
  return cudaDeviceSynchronize() == cudaSuccess;
}

int main() {
  const int n = 1 << 16;
  int *children, *out;
  cudaMalloc(&children, n * sizeof(int));
  cudaMalloc(&out, n * sizeof(int));
  cudaMemset(children, 0, n * sizeof(int));
  if (!run(children, out, n, 4096)) return 77;
  return run(children, out, n, size_t(1) << 30) ? 0 : 1;
}
