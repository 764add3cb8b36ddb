// A selection writes fewer slots than it should. The others still hold floats of an earlier use of the buffer.
__global__ void scores(float* buffer, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) buffer[i] = 1 + i % 7;
}

__global__ void select_slots(int* slots, int limit, int rows) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < limit) slots[i] = (i * 37) % rows;
}

__global__ void gather(const float* table, const int* slots, int width, float* out) {
  const float* row = table + static_cast<size_t>(slots[blockIdx.x]) * width;
  out[blockIdx.x * width + threadIdx.x] = row[threadIdx.x];  // ACCESS
}

int main() {
  const int rows = 1 << 20, width = 16, wanted = 2048, limit = 1024;
  float *table, *out;
  void* buffer;
  cudaMalloc(&out, wanted * width * sizeof(float));
  cudaMalloc(&buffer, wanted * sizeof(float));
  cudaMalloc(&table, size_t(rows) * width * sizeof(float));  // ALLOC
  cudaMemset(table, 0, size_t(rows) * width * sizeof(float));
  scores<<<wanted / 256, 256>>>(static_cast<float*>(buffer), wanted);
  int* slots = static_cast<int*>(buffer);
  select_slots<<<wanted / 256, 256>>>(slots, limit, rows);
  gather<<<limit, width>>>(table, slots, width, out);
  if (cudaDeviceSynchronize() != cudaSuccess) return 77;
  gather<<<wanted, width>>>(table, slots, width, out);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
