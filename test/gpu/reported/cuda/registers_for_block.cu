// A kernel needs more registers for each thread than a block of 1024 threads can get.
__global__ void convolve(const float* in, float* out, int n) {
  float window[160];
#pragma unroll
  for (int i = 0; i < 160; i++) window[i] = in[(threadIdx.x * 160 + i) % n];
  for (int step = 0; step < n; step++) {
#pragma unroll
    for (int i = 0; i < 160; i++) window[i] = window[i] * window[(i + 1) % 160] + in[step];
  }
#pragma unroll
  for (int i = 0; i < 160; i++) out[threadIdx.x * 160 + i] = window[i];
}

int main() {
  const int n = 64;
  float *in, *out;
  cudaMalloc(&in, n * sizeof(float));
  cudaMalloc(&out, 1024 * 160 * sizeof(float));
  cudaMemset(in, 0, n * sizeof(float));
  convolve<<<1, 256>>>(in, out, n);
  convolve<<<1, 1024>>>(in, out, n);  // LAUNCH
  if (cudaGetLastError() != cudaSuccess) return 1;
  return cudaDeviceSynchronize() != cudaSuccess;
}
