// A template gathers rows through functions from a header; one id is outside the vocabulary.
#include "gather_rows.cuh"

template <typename T, typename Index>
__global__ void gather(T* out, const T* table, const Index* ids, int width) {
  out[blockIdx.x * width + threadIdx.x] = element(row_of(table, ids[blockIdx.x], width), threadIdx.x);  // ACCESS
}

int main() {
  const int vocabulary = 32000, width = 512;
  int host[4] = {5, 31999, 4'000'000, 7}, *ids;
  float *table, *out;
  cudaMalloc(&out, 4 * width * sizeof(float));
  cudaMalloc(&table, vocabulary * width * sizeof(float));  // ALLOC
  cudaMalloc(&ids, sizeof host);
  cudaMemcpy(ids, host, sizeof host, cudaMemcpyHostToDevice);
  gather<float, int><<<4, width>>>(out, table, ids, width);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
