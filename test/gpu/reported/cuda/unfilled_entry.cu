// Sixty-four slots for the weights of experts, forty-eight are on this device; a token is routed to another one.
__global__ void combine(float* const* weights, const int* expert_of, float* out) {
  const float* weight = weights[expert_of[blockIdx.x]];
  out[blockIdx.x * blockDim.x + threadIdx.x] = weight[threadIdx.x];  // ACCESS
}

int main() {
  const int slots = 64, here = 48, width = 256, tokens = 128;
  float *host[slots] = {}, **weights, *out;
  for (int e = 0; e < here; e++) cudaMalloc(&host[e], width * sizeof(float));
  int routes[tokens], *expert_of;
  for (int t = 0; t < tokens; t++) routes[t] = t % here;
  routes[77] = 55;
  cudaMalloc(&weights, sizeof host);
  cudaMalloc(&expert_of, sizeof routes);
  cudaMalloc(&out, tokens * width * sizeof(float));
  cudaMemcpy(weights, host, sizeof host, cudaMemcpyHostToDevice);
  cudaMemcpy(expert_of, routes, sizeof routes, cudaMemcpyHostToDevice);
  combine<<<tokens, width>>>(weights, expert_of, out);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
