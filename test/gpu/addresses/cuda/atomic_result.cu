// A counter per expert, where -1 means "no expert". The old value is used, so the atomic returns it.
__global__ void place_tokens(const long long* expert, unsigned* counters, unsigned* places, long long stride) {
  places[threadIdx.x] = atomicAdd(&counters[expert[threadIdx.x] * stride], 1u);  // ACCESS
}

int main() {
  long long host[64], *expert;
  for (int i = 0; i < 64; ++i) host[i] = i == 40 ? -1 : i % 4;
  unsigned *counters, *places;
  const long long stride = 1 << 28;
  cudaMalloc(&counters, 4 * stride * sizeof(unsigned));  // ALLOC
  cudaMalloc(&places, 4096);
  cudaMalloc(&expert, sizeof host);
  cudaMemcpy(expert, host, sizeof host, cudaMemcpyHostToDevice);
  place_tokens<<<1, 64>>>(expert, counters, places, stride);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
