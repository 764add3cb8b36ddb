// The positions of tokens are stored as short, and the longest sequence has more than 32767 tokens.
__global__ void number(short* positions, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) positions[i] = static_cast<short>(i);
}

__global__ void embed(const float* table, const short* positions, int width, float* out) {
  const float* row = table + positions[blockIdx.x] * width;
  float sum = 0;
  for (int i = threadIdx.x; i < width; i += blockDim.x) sum += row[i];  // ACCESS
  atomicAdd(&out[blockIdx.x], sum);
}

bool run(const float* table, short* positions, int tokens, int width, float* out) {
  number<<<tokens / 256, 256>>>(positions, tokens);
  embed<<<tokens, 128>>>(table, positions, width, out);  // LAUNCH
  return cudaDeviceSynchronize() == cudaSuccess;
}

int main() {
  const int longest = 65536, width = 4096;
  float *table, *out;
  short* positions;
  cudaMalloc(&positions, longest * sizeof(short));
  cudaMalloc(&out, longest * sizeof(float));
  cudaMalloc(&table, size_t{longest} * width * sizeof(float));  // ALLOC
  cudaMemset(out, 0, longest * sizeof(float));
  cudaMemset(table, 0, size_t{longest} * width * sizeof(float));
  if (!run(table, positions, 4096, width, out)) return 77;
  return run(table, positions, longest, width, out) ? 0 : 1;
}
