// More than 2^31 elements, one thread for each: the number of the thread does not fit into an int.
__global__ void increment(signed char* x, long long n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = 1;  // ACCESS
}

bool run(signed char* x, long long n) {
  increment<<<n / 256, 256>>>(x, n);  // LAUNCH
  return cudaDeviceSynchronize() == cudaSuccess;
}

int main() {
  const long long gib = 1 << 30, n = 2 * gib + gib / 4;
  signed char* x;
  if (cudaMalloc(&x, n) != cudaSuccess) return 77;  // ALLOC
  if (!run(x, gib)) return 77;
  return run(x, n) ? 0 : 1;
}
