// Rows are copied to shared memory with asynchronous copies of 16 bytes. Padded rows begin at a multiple of 8 only.
__device__ void copy_16(float* shared, const float* global) {
  unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(global) : "memory");  // ACCESS
}

__global__ void stage(const float* rows, int stride, float* out) {
  __shared__ alignas(16) float tile[1024];
  const float* row = rows + static_cast<size_t>(blockIdx.x) * stride;
  for (int i = threadIdx.x * 4; i < 1024; i += blockDim.x * 4) copy_16(tile + i, row + i);  // ACCESS
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = tile[0] + tile[1023];
}

bool run(const float* rows, int stride, int count, float* out) {
  stage<<<count, 128>>>(rows, stride, out);  // LAUNCH
  return cudaDeviceSynchronize() == cudaSuccess;
}

int main() {
  const int count = 1024;
  float *rows, *out;
  cudaMalloc(&rows, count * 1032 * sizeof(float));
  cudaMalloc(&out, count * sizeof(float));
  cudaMemset(rows, 0, count * 1032 * sizeof(float));
  if (!run(rows, 1028, count, out)) return 77;
  return run(rows, 1026, count, out) ? 0 : 1;
}
