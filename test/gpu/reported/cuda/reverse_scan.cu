// A loop from the last element to the first: its unsigned counter is never less than zero.
__global__ void suffix_sums(const float* values, float* sums, unsigned n) {
  float sum = 0;
  for (unsigned i = n - 1; i >= 0; i--) {
    sum += values[i];  // ACCESS
    sums[i] = sum;     // ACCESS
  }
}

int main() {
  const unsigned n = 10000;
  float *values, *sums;
  cudaMalloc(&values, n * sizeof(float));  // ALLOC
  cudaMalloc(&sums, n * sizeof(float));    // ALLOC
  suffix_sums<<<1, 1>>>(values, sums, n);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
