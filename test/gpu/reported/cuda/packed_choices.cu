// Sorted entries hold the token in 24 bits and the choice of the router above it. The second kernel forgets the mask.
const int WIDTH = 256, TOKENS = 65536, CHOICES = 8;

__global__ void make_entries(unsigned* entries) {
  int token = blockIdx.x * blockDim.x + threadIdx.x;
  for (unsigned choice = 0; choice < CHOICES; choice++) entries[choice * TOKENS + token] = choice << 24 | token;
}

__global__ void gather(const float* hidden, const unsigned* entries, float* out) {
  size_t token = entries[blockIdx.x] & 0xffffff;
  out[size_t(blockIdx.x) * WIDTH + threadIdx.x] = hidden[token * WIDTH + threadIdx.x];
}

__global__ void weigh(const float* hidden, const unsigned* entries, float* scores) {
  size_t token = entries[blockIdx.x];
  float value = hidden[token * WIDTH + threadIdx.x];  // ACCESS
  if (value > 0) atomicAdd(&scores[blockIdx.x], value);
}

int main() {
  const size_t entry_count = size_t(TOKENS) * CHOICES;
  unsigned* entries;
  float *hidden, *out, *scores;
  cudaMalloc(&entries, entry_count * sizeof(unsigned));
  cudaMalloc(&scores, entry_count * sizeof(float));
  cudaMalloc(&out, entry_count * WIDTH * sizeof(float));
  cudaMalloc(&hidden, TOKENS * WIDTH * sizeof(float));  // ALLOC
  cudaMemset(hidden, 0, TOKENS * WIDTH * sizeof(float));
  make_entries<<<TOKENS / 256, 256>>>(entries);
  gather<<<entry_count, WIDTH>>>(hidden, entries, out);
  if (cudaDeviceSynchronize() != cudaSuccess) return 77;
  weigh<<<entry_count, WIDTH>>>(hidden, entries, scores);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
