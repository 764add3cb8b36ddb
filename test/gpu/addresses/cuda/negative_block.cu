// A key-value cache: the unused entry -1 of the block table reaches the kernel.
__global__ void append(float* pool, const int* block_table, const float* fresh, int position, int page, int width) {
  long long block = block_table[position / page];
  pool[(block * page + position % page) * width + threadIdx.x] = fresh[threadIdx.x];  // ACCESS
}

int main() {
  const int pages = 4, page = 16384, width = 16384;
  int table[8] = {0, 2, 3, -1, -1, -1, -1, -1}, *block_table;
  float *pool, *fresh;
  cudaMalloc(&pool, size_t(pages) * page * width * sizeof(float));  // ALLOC
  cudaMalloc(&fresh, width * sizeof(float));
  cudaMalloc(&block_table, sizeof table);
  cudaMemcpy(block_table, table, sizeof table, cudaMemcpyHostToDevice);
  append<<<1, 256>>>(pool, block_table, fresh, 16384, page, width);
  append<<<1, 256>>>(pool, block_table, fresh, 3 * 16384 + 5, page, width);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
