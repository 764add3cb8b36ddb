// `bias` may be null and is checked; an index into `y` causes the failure.
__global__ void linear(const float* x, const float* bias, const long long* slot, float* y) {
  float sum = x[threadIdx.x];
  if (bias) sum += bias[threadIdx.x];
  y[slot[threadIdx.x]] = sum;  // ACCESS
}

int main() {
  long long host[32], *slot;
  for (int i = 0; i < 32; ++i) host[i] = i;
  host[7] = 1LL << 30;
  float *x, *y;
  cudaMalloc(&x, 32 * sizeof(float));
  cudaMalloc(&y, 4096);  // ALLOC
  cudaMalloc(&slot, sizeof host);
  cudaMemcpy(slot, host, sizeof host, cudaMemcpyHostToDevice);
  linear<<<1, 32>>>(x, nullptr, slot, y);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
