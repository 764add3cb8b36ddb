// Three adjacent arrays, of which only the last is too small. The failing address may be next to another array.
#include <cstddef>

__global__ void add(const unsigned char* a, const unsigned char* b, double* c, size_t n) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x)
    c[i] = a[i] + b[i];  // ACCESS
}

int main() {
  const size_t n = size_t(1) << 30;
  unsigned char *a, *b;
  double* c;
  cudaMalloc(&a, n);
  cudaMalloc(&b, n);
  cudaMalloc(&c, n);               // ALLOC
  add<<<2048, 512>>>(a, b, c, n);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
