// The output was allocated for half precision, but the kernel writes doubles.
#include <cuda_fp16.h>

template <typename Out>
__global__ void convert(const __half* in, Out* out, size_t n) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i < n) out[i] = Out(__half2float(in[i]));  // ACCESS
}

int main() {
  const size_t n = 1 << 29;
  __half* in;
  double* out;
  cudaMalloc(&in, n * sizeof(__half));
  cudaMalloc(&out, n * sizeof(__half));     // ALLOC
  convert<<<n / 1024, 1024>>>(in, out, n);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
