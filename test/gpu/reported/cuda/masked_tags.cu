// Correct: pointers in memory have tags, and each kernel removes them before it follows a pointer.
__device__ float* untagged(unsigned long long word) { return reinterpret_cast<float*>(word & 0xfffffffffff8); }

__global__ void move(const unsigned long long* words) { untagged(words[blockIdx.x])[threadIdx.x] += 1; }

int main() {
  unsigned long long host[8], *words;
  float* values;
  cudaMalloc(&values, 8 * 64 * sizeof(float));
  cudaMalloc(&words, sizeof host);
  cudaMemset(values, 0, 8 * 64 * sizeof(float));
  for (unsigned long long i = 0; i < 8; i++)
    host[i] = reinterpret_cast<unsigned long long>(values + 64 * i) | (i + 1) << 48 | i;
  cudaMemcpy(words, host, sizeof host, cudaMemcpyHostToDevice);
  move<<<8, 64>>>(words);
  return cudaDeviceSynchronize() != cudaSuccess;
}
