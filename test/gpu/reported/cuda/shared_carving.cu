// Dynamic shared memory holds an odd number of floats, and doubles directly behind them.
__global__ void moments(const float* in, int count, double* out) {
  extern __shared__ float values[];
  double* sums = reinterpret_cast<double*>(values + count);
  for (int i = threadIdx.x; i < count; i += blockDim.x) values[i] = in[i];
  sums[threadIdx.x] = 0;  // ACCESS
  __syncthreads();
  for (int i = threadIdx.x; i < count; i += blockDim.x) sums[threadIdx.x] += double(values[i]) * values[i];
  __syncthreads();
  out[threadIdx.x] = sums[threadIdx.x];
}

int main() {
  const int count = 1023, block = 128;
  float* in;
  double* out;
  cudaMalloc(&in, count * sizeof(float));
  cudaMalloc(&out, block * sizeof(double));
  cudaMemset(in, 0, count * sizeof(float));
  moments<<<1, block, count * sizeof(float) + block * sizeof(double)>>>(in, count, out);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
