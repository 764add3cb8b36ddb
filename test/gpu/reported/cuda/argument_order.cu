// A launch with a list of arguments: the first two are in the wrong order.
__global__ void scale(float* x, long long n, float factor) {
  long long i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= factor;  // ACCESS
}

int main() {
  long long n = 16 << 20;
  float factor = 0.5f, *x;
  cudaMalloc(&x, n * sizeof(float));
  cudaMemset(x, 0, n * sizeof(float));
  void* arguments[] = {&n, &x, &factor};
  const void* kernel = reinterpret_cast<const void*>(scale);
  if (cudaLaunchKernel(kernel, dim3(n / 256), dim3(256), arguments, 0, nullptr) != cudaSuccess) return 77;  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
