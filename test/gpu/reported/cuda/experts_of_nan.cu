// The best expert of a token is found with comparisons; if all scores are NaN, its number stays 65535.
__global__ void route(const float* scores, int tokens, int experts, int* counts) {
  __shared__ int shared_counts[256];
  shared_counts[threadIdx.x] = 0;
  __syncthreads();
  for (int token = blockIdx.x * blockDim.x + threadIdx.x; token < tokens; token += gridDim.x * blockDim.x) {
    float best_score = -INFINITY;
    unsigned short best = 65535;
    for (int e = 0; e < experts; e++)
      if (scores[token * experts + e] >= best_score) {
        best_score = scores[token * experts + e];
        best = e;
      }
    atomicAdd(&shared_counts[best], 1);  // ACCESS
  }
  __syncthreads();
  if (threadIdx.x < experts) atomicAdd(&counts[threadIdx.x], shared_counts[threadIdx.x]);
}

int main() {
  const int tokens = 8192, experts = 64;
  float* scores;
  int* counts;
  cudaMalloc(&scores, tokens * experts * sizeof(float));
  cudaMalloc(&counts, experts * sizeof(int));
  cudaMemset(scores, 0, tokens * experts * sizeof(float));
  cudaMemset(counts, 0, experts * sizeof(int));
  cudaMemset(scores + 99 * experts, 0xff, experts * sizeof(float));  // a token whose scores are NaN
  route<<<8, 256>>>(scores, tokens, experts, counts);                // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
