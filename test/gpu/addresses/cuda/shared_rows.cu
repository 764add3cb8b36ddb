// The tile has eight rows, but the block has 32.
__global__ void transpose(const float* in, float* out) {
  __shared__ float tile[8][1024];
  for (int x = threadIdx.x; x < 1024; x += 32) tile[threadIdx.y][x] = in[threadIdx.y * 1024 + x];  // ACCESS
  __syncthreads();
  for (int x = threadIdx.x; x < 1024; x += 32) out[x * 32 + threadIdx.y] = tile[threadIdx.y][x];
}

int main() {
  float *in, *out;
  cudaMalloc(&in, 32 * 1024 * sizeof(float));
  cudaMalloc(&out, 32 * 1024 * sizeof(float));
  transpose<<<1, dim3(32, 8)>>>(in, out);
  transpose<<<1, dim3(32, 32)>>>(in, out);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
