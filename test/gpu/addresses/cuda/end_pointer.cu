// `end` is past the allocation by design and is never read; the access to `out[slot]` fails.
__global__ void sum_range(const float* begin, const float* end, float* out, long long slot) {
  float sum = 0;
  for (const float* p = begin + threadIdx.x; p < end; p += blockDim.x) sum += *p;
  out[slot + threadIdx.x] = sum;  // ACCESS
}

int main() {
  const int n = 1 << 24;
  float *values, *out;
  cudaMalloc(&values, n * sizeof(float));
  cudaMalloc(&out, 32 << 20);  // ALLOC
  sum_range<<<1, 256>>>(values, values + n, out, 0);
  sum_range<<<1, 256>>>(values, values + n, out, 1LL << 31);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
