// The list of tokens describes the whole batch, but x holds only the rows of a few gathered tokens.
__global__ void number(int* tokens, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) tokens[i] = i;
}

__global__ void expand(const float* x, const int* tokens, int width, float* out) {
  const float* row = x + static_cast<size_t>(tokens[blockIdx.x]) * width;
  float sum = 0;
  for (int i = threadIdx.x; i < width; i += blockDim.x) sum += row[i];  // ACCESS
  atomicAdd(&out[blockIdx.x], sum);
}

bool run(const float* x, const int* tokens, int count, int width, float* out) {
  expand<<<count, 128>>>(x, tokens, width, out);  // LAUNCH
  return cudaDeviceSynchronize() == cudaSuccess;
}

int main() {
  const int width = 4096, scheduled = 262144, gathered = 1024;
  float *x, *out;
  int* tokens;
  cudaMalloc(&tokens, scheduled * sizeof(int));
  cudaMalloc(&out, scheduled * sizeof(float));
  cudaMalloc(&x, gathered * width * sizeof(float));  // ALLOC
  cudaMemset(out, 0, scheduled * sizeof(float));
  cudaMemset(x, 0, gathered * width * sizeof(float));
  number<<<scheduled / 256, 256>>>(tokens, scheduled);
  if (!run(x, tokens, gathered, width, out)) return 77;
  return run(x, tokens, scheduled, width, out) ? 0 : 1;
}
