// The last block goes past the end, but stays in the page: the hardware does not detect it, and no failure may be
// reported.
__global__ void add_one(int* counts) { counts[blockIdx.x * blockDim.x + threadIdx.x] += 1; }

int main() {
  const int n = 1000;
  int* counts;
  cudaMalloc(&counts, n * sizeof(int));
  cudaMemset(counts, 0, n * sizeof(int));
  add_one<<<(n + 255) / 256, 256>>>(counts);
  return cudaDeviceSynchronize() != cudaSuccess;
}
