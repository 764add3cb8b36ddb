// The number of blocks is rounded up in an int. For almost 2^31 elements it becomes negative.
#include <climits>

__global__ void clear(unsigned char* x, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = 0;
}

int blocks_for(int n, int block) { return static_cast<int>(static_cast<unsigned>(n) + block - 1) / block; }

bool run(unsigned char* x, int n) {
  clear<<<blocks_for(n, 256), 256>>>(x, n);  // LAUNCH
  return cudaGetLastError() == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess;
}

int main() {
  const int most = INT_MAX - 100;
  unsigned char* x;
  if (cudaMalloc(&x, most) != cudaSuccess) return 77;
  if (!run(x, 1 << 30)) return 77;
  return run(x, most) ? 0 : 1;
}
