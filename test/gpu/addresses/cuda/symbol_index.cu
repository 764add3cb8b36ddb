// An index is far outside a __device__ array, whose memory belongs to the module.
__device__ float gamma_table[256];

__global__ void correct(const long long* level, float* out) {
  out[threadIdx.x] = gamma_table[level[threadIdx.x]];  // ACCESS
}

int main() {
  long long host[32], *level;
  for (int i = 0; i < 32; ++i) host[i] = i == 3 ? 1LL << 32 : i;
  float* out;
  cudaMalloc(&level, sizeof host);
  cudaMalloc(&out, 4096);
  cudaMemcpy(level, host, sizeof host, cudaMemcpyHostToDevice);
  correct<<<1, 32>>>(level, out);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
