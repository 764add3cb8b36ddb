// row * stride does not fit in 32 bits from row 32768 on: the offset becomes negative.
__global__ void mark_rows(unsigned char* table, int stride) {
  int row = blockIdx.x;
  table[row * stride + int(threadIdx.x)] = 1;  // ACCESS
}

int main() {
  const int rows = 40000, stride = 65536;
  unsigned char* table;
  cudaMalloc(&table, size_t(rows) * stride);  // ALLOC
  mark_rows<<<rows, 256>>>(table, stride);    // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
