// The index of a pair of points in a packed triangle: with 70000 points, a product in it exceeds 31 bits.
__global__ void close_pairs(const float* x, int n, signed char* close) {
  int i = blockIdx.x;
  for (int j = i + 1 + threadIdx.x; j < n; j += blockDim.x) {
    int pair = i * (2 * n - i - 1) / 2 + j - i - 1;
    close[pair] = fabsf(x[i] - x[j]) < 1;  // ACCESS
  }
}

bool run(const float* x, int n, signed char* close) {
  close_pairs<<<n, 256>>>(x, n, close);  // LAUNCH
  return cudaDeviceSynchronize() == cudaSuccess;
}

int main() {
  const int n = 70000;
  float* x;
  signed char* close;
  cudaMalloc(&x, n * sizeof(float));
  cudaMemset(x, 0, n * sizeof(float));
  if (cudaMalloc(&close, size_t(n) * (n - 1) / 2) != cudaSuccess) return 77;  // ALLOC
  if (!run(x, 20000, close)) return 77;
  return run(x, n, close) ? 0 : 1;
}
