// Almost 2^31 bytes are visited with an int. The last step goes beyond the largest int and becomes negative.
#include <climits>

__global__ void count_zeros(const unsigned char* x, int n, unsigned long long* zeros) {
  const unsigned step = gridDim.x * blockDim.x;
  unsigned long long mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i = static_cast<int>(i + step)) {
    mine += x[i] == 0;  // ACCESS
  }
  atomicAdd(zeros, mine);
}

bool run(const unsigned char* x, int n, unsigned long long* zeros) {
  count_zeros<<<4096, 256>>>(x, n, zeros);  // LAUNCH
  return cudaDeviceSynchronize() == cudaSuccess;
}

int main() {
  const int most = INT_MAX - 47;
  unsigned char* x;
  unsigned long long* zeros;
  cudaMalloc(&zeros, sizeof *zeros);
  cudaMemset(zeros, 0, sizeof *zeros);
  if (cudaMalloc(&x, most) != cudaSuccess) return 77;  // ALLOC
  cudaMemset(x, 0, most);
  if (!run(x, most / 2, zeros)) return 77;
  return run(x, most, zeros) ? 0 : 1;
}
