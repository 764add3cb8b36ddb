// A kernel computes offsets in 32 bits and stores them; they wrap to negative numbers, and the next kernel uses them.
__global__ void make_offsets(const unsigned* first_token, int* offsets, unsigned width) {
  offsets[threadIdx.x] = first_token[threadIdx.x] * width;
}

__global__ void mark_starts(const int* offsets, unsigned* bits) {
  int at = offsets[threadIdx.x];
  atomicOr(&bits[at / 32], 1u << (at & 31));  // ACCESS
}

int main() {
  const unsigned width = 8192, sequences = 64, tokens = 300'000;
  unsigned host[sequences], *first_token, *bits;
  for (unsigned s = 0; s < sequences; s++) host[s] = s * 4700;
  int* offsets;
  cudaMalloc(&bits, size_t(tokens) * width / 8);  // ALLOC
  cudaMalloc(&offsets, sequences * sizeof(int));
  cudaMalloc(&first_token, sizeof host);
  cudaMemcpy(first_token, host, sizeof host, cudaMemcpyHostToDevice);
  make_offsets<<<1, sequences>>>(first_token, offsets, width);
  mark_starts<<<1, sequences>>>(offsets, bits);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
