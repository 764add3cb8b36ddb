// A filter loads its halo; the first block subtracts the radius from an unsigned zero.
const unsigned tile = 256, radius = 4;

__global__ void smooth(const float* in, float* out) {
  __shared__ float values[tile + 2 * radius];
  unsigned first = blockIdx.x * tile - radius;
  for (unsigned i = threadIdx.x; i < tile + 2 * radius; i += blockDim.x) values[i] = in[first + i];  // ACCESS
  __syncthreads();
  float sum = 0;
  for (unsigned i = 0; i <= 2 * radius; i++) sum += values[threadIdx.x + i];
  out[blockIdx.x * tile + threadIdx.x] = sum / (2 * radius + 1);
}

int main() {
  const size_t n = 16 << 20;
  float *in, *out;
  cudaMalloc(&in, n * sizeof(float));  // ALLOC
  cudaMalloc(&out, n * sizeof(float));
  cudaMemset(in, 0, n * sizeof(float));
  smooth<<<n / tile - 1, tile>>>(in, out);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
