// An address travels as two 32-bit numbers, and the kernel joins them in the wrong order.
__global__ void reduce(const unsigned* halves, int ranks, float* out) {
  float sum = 0;
  for (int r = 0; r < ranks; r++) {
    unsigned long long address = static_cast<unsigned long long>(halves[2 * r]) << 32 | halves[2 * r + 1];
    sum += reinterpret_cast<const float*>(address)[threadIdx.x];  // ACCESS
  }
  out[threadIdx.x] = sum;
}

int main() {
  const int ranks = 2;
  unsigned host[2 * ranks], *halves;
  float* out;
  for (int r = 0; r < ranks; r++) {
    float* buffer;
    cudaMalloc(&buffer, 8 << 20);
    unsigned long long address = reinterpret_cast<unsigned long long>(buffer);
    host[2 * r] = static_cast<unsigned>(address);
    host[2 * r + 1] = static_cast<unsigned>(address >> 32);
  }
  cudaMalloc(&halves, sizeof host);
  cudaMalloc(&out, 256 * sizeof(float));
  cudaMemcpy(halves, host, sizeof host, cudaMemcpyHostToDevice);
  reduce<<<1, 256>>>(halves, ranks, out);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
