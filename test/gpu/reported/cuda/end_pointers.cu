// Correct: a range ends one element past its memory, an optional bias is null, and neither is read.
__global__ void shift(float* begin, float* end, const float* bias) {
  for (float* x = begin + threadIdx.x; x < end; x += blockDim.x) *x += bias ? bias[threadIdx.x] : 1;
}

int main() {
  const int n = 1 << 20;
  float *x, *gone;
  cudaMalloc(&x, n * sizeof(float));
  cudaMalloc(&gone, n * sizeof(float));
  cudaMemset(x, 0, n * sizeof(float));
  cudaFree(gone);
  shift<<<1, 256>>>(x, x + n, nullptr);
  shift<<<1, 256>>>(gone, gone, gone);  // an empty range of freed memory
  return cudaDeviceSynchronize() != cudaSuccess;
}
