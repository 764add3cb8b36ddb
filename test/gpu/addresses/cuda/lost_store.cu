// An index is far too large. The threads store and continue with other values in the same registers, so that no core
// dump has the address.
__global__ void scatter(float* table, const long* at, float* out, int n, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  table[at[i]] = 1.0f;  // ACCESS
  float a[96];
#pragma unroll
  for (int k = 0; k < 96; ++k) a[k] = i * 0.5f + k;
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int k = 0; k < 96; ++k) a[k] = a[(k + 1) % 96] * 0.25f + a[k];
  }
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 96; ++k) sum += a[k];
  out[i] = sum;
}

__global__ void choose(long* at, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) at[i] = i < n / 2 ? i : 3'000'000'000 + i;
}

int main() {
  const int n = 1 << 20;
  float *table, *out;
  long* at;
  cudaMalloc(&table, n * sizeof(float));  // ALLOC
  cudaMalloc(&out, n * sizeof(float));
  cudaMalloc(&at, n * sizeof(long));
  choose<<<n / 256, 256>>>(at, n);
  scatter<<<n / 256, 256>>>(table, at, out, n, 20000);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
