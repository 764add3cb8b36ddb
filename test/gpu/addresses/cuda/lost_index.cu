// An index is far too large. The load overwrites its address, and the threads continue, so that no core dump has it.
__global__ void look_up(const float* table, const long* at, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = table[at[i]];  // ACCESS
  for (int k = 0; k < 64; ++k) v = v * 0.5f + k;
  out[i] = v;
}

__global__ void choose(long* at, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) at[i] = i < n / 2 ? i : 3'000'000'000 + i;
}

int main() {
  const int n = 1 << 22;
  float *table, *out;
  long* at;
  cudaMalloc(&table, n * sizeof(float));  // ALLOC
  cudaMalloc(&out, n * sizeof(float));
  cudaMalloc(&at, n * sizeof(long));
  choose<<<n / 256, 256>>>(at, n);
  look_up<<<n / 256, 256>>>(table, at, out, n);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
