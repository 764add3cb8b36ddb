// A history of eight entries in a local array; the step, read from memory, is far too large.
__global__ void keep_last(const int* steps, float* out) {
  float history[8] = {};
  for (int i = 0; i < 4; ++i) history[steps[i]] = i;  // ACCESS
  out[threadIdx.x] = history[threadIdx.x & 7];
}

int main() {
  int host[4] = {0, 1, 2, 200'000'000}, *steps;
  float* out;
  cudaMalloc(&steps, sizeof host);
  cudaMalloc(&out, 4096);
  cudaMemcpy(steps, host, sizeof host, cudaMemcpyHostToDevice);
  keep_last<<<1, 32>>>(steps, out);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
