// A batched kernel expects a table of pointers. It gets the first matrix instead, and takes its values for pointers.
__global__ void fill(float* matrix, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) matrix[i] = 1;
}

__global__ void trace(const float* const* matrices, int size, float* out) {
  const float* matrix = matrices[blockIdx.x];
  float sum = 0;
  for (int i = threadIdx.x; i < size; i += blockDim.x) sum += matrix[i * size + i];  // ACCESS
  atomicAdd(&out[blockIdx.x], sum);
}

int main() {
  const int size = 1024, batch = 8;
  float *first, *out;
  const float** table;
  cudaMalloc(&out, batch * sizeof(float));
  cudaMalloc(&table, batch * sizeof(float*));
  cudaMalloc(&first, batch * size * size * sizeof(float));
  fill<<<batch * size * size / 256, 256>>>(first, batch * size * size);
  for (int i = 0; i < batch; i++) {
    const float* matrix = first + i * size * size;
    cudaMemcpy(table + i, &matrix, sizeof matrix, cudaMemcpyHostToDevice);
  }
  trace<<<batch, 128>>>(table, size, out);
  if (cudaDeviceSynchronize() != cudaSuccess) return 77;
  trace<<<batch, 128>>>(reinterpret_cast<const float* const*>(first), size, out);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
