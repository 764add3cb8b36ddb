// Every block reserves a piece of a pool with a cursor of 32 bits, which becomes negative after 2 GiB.
__global__ void record(signed char* pool, int* cursor, int piece) {
  __shared__ int start;
  if (threadIdx.x == 0) start = atomicAdd(cursor, piece);
  __syncthreads();
  for (int i = threadIdx.x; i < piece; i += blockDim.x) pool[start + i] = 1;  // ACCESS
}

int main() {
  const size_t pool_bytes = size_t(3) << 30;
  signed char* pool;
  int* cursor;
  cudaMalloc(&pool, pool_bytes);  // ALLOC
  cudaMalloc(&cursor, sizeof(int));
  cudaMemset(cursor, 0, sizeof(int));
  record<<<70000, 256>>>(pool, cursor, 32768);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
