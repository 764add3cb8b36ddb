// A list without entries has no memory: the address is null, and the kernel never follows it.
__global__ void add(float* x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] += 1;
}

int main() {
  for (int n : {1 << 20, 0, 1 << 10}) {
    float* x = nullptr;
    if (cudaMalloc(&x, n * sizeof(float)) != cudaSuccess) return 1;
    if (n) cudaMemset(x, 0, n * sizeof(float));
    add<<<1, 256>>>(x, n);
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    cudaFree(x);
  }
  return 0;
}
