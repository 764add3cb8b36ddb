// Routes of -1 mean "not on this device", and the kernel skips them. The program succeeds.
__global__ void combine(const float* weights, const int* routes, int width, float* out) {
  int route = routes[blockIdx.x];
  if (route < 0) return;
  for (int i = threadIdx.x; i < width; i += blockDim.x)
    out[blockIdx.x * width + i] = weights[(long long)route * width + i];
}

int main() {
  const int experts = 8, width = 1 << 20, tokens = 32;
  int host[tokens], *routes;
  float *weights, *out;
  for (int t = 0; t < tokens; t++) host[t] = t % 3 ? t % experts : -1;
  cudaMalloc(&routes, sizeof host);
  cudaMalloc(&weights, size_t(experts) * width * sizeof(float));
  cudaMalloc(&out, size_t(tokens) * width * sizeof(float));
  cudaMemset(weights, 0, size_t(experts) * width * sizeof(float));
  cudaMemcpy(routes, host, sizeof host, cudaMemcpyHostToDevice);
  combine<<<tokens, 256>>>(weights, routes, width, out);
  return cudaDeviceSynchronize() != cudaSuccess;
}
