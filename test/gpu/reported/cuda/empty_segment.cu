// Offsets of segments decrease once, so the unsigned length of a segment is enormous.
__global__ void sum_segments(const float* values, const unsigned* offsets, float* sums) {
  unsigned length = offsets[blockIdx.x + 1] - offsets[blockIdx.x];
  const float* segment = values + offsets[blockIdx.x];
  float sum = 0;
  for (size_t i = threadIdx.x; i < length; i += blockDim.x) sum += segment[i];  // ACCESS
  atomicAdd(&sums[blockIdx.x], sum);
}

int main() {
  const int segments = 4;
  unsigned host[segments + 1] = {0, 4096, 12288, 8192, 16384}, *offsets;
  float *values, *sums;
  cudaMalloc(&offsets, sizeof host);
  cudaMalloc(&sums, segments * sizeof(float));
  cudaMalloc(&values, 16384 * sizeof(float));  // ALLOC
  cudaMemset(sums, 0, segments * sizeof(float));
  cudaMemcpy(offsets, host, sizeof host, cudaMemcpyHostToDevice);
  sum_segments<<<segments, 1024>>>(values, offsets, sums);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
