// Keys and queries are in the same arena; the index into the keys is outside it.
__global__ void scores(const float* queries, const float* keys, const long long* chosen, float* out) {
  out[threadIdx.x] = queries[threadIdx.x] * keys[chosen[threadIdx.x]];  // ACCESS
}

int main() {
  float *arena, *out;
  long long host[32], *chosen;
  for (int i = 0; i < 32; ++i) host[i] = i;
  host[31] = 1LL << 30;
  cudaMalloc(&arena, 64 << 20);  // ALLOC
  cudaMalloc(&out, 4096);
  cudaMalloc(&chosen, sizeof host);
  cudaMemcpy(chosen, host, sizeof host, cudaMemcpyHostToDevice);
  scores<<<1, 32>>>(arena, arena + (8 << 20), chosen, out);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
