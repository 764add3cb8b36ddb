// Points are counted by a Morton code of 32 bits. As an int, the codes of the upper half are negative.
__device__ unsigned spread(unsigned x) {
  x = (x | x << 8) & 0x00ff00ff;
  x = (x | x << 4) & 0x0f0f0f0f;
  x = (x | x << 2) & 0x33333333;
  return (x | x << 1) & 0x55555555;
}

__device__ int morton(unsigned x, unsigned y) { return spread(x) | spread(y) << 1; }

__global__ void count(const ushort2* points, int n, int* bins) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int bin = morton(points[i].x, points[i].y) >> 4;
  atomicAdd(&bins[bin], 1);  // ACCESS
}

__global__ void scatter(ushort2* points, int n, unsigned height) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) points[i] = make_ushort2(i * 40503u >> 4 & 0xffff, i * 2654435761u % height);
}

bool run(ushort2* points, int n, unsigned height, int* bins) {
  scatter<<<n / 256, 256>>>(points, n, height);
  count<<<n / 256, 256>>>(points, n, bins);  // LAUNCH
  return cudaDeviceSynchronize() == cudaSuccess;
}

int main() {
  const int n = 1 << 20;
  ushort2* points;
  int* bins;
  cudaMalloc(&points, n * sizeof(ushort2));
  cudaMalloc(&bins, sizeof(int) << 28);  // ALLOC
  cudaMemset(bins, 0, sizeof(int) << 28);
  if (!run(points, n, 32768, bins)) return 77;
  return run(points, n, 65536, bins) ? 0 : 1;
}
