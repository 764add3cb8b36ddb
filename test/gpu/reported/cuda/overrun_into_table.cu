// Weights and a table of pointers share one arena; a kernel writes too many weights and so overwrites the pointers.
__global__ void set_weights(float* weights, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) weights[i] = 1.0f / (1 + i % 7);
}

__global__ void apply(float* const* layers, const float* weights) {
  layers[blockIdx.x][threadIdx.x] *= weights[threadIdx.x];  // ACCESS
}

int main() {
  const int n = 4096, layers = 4;
  char* arena;
  float *host[layers], *values;
  cudaMalloc(&arena, n * sizeof(float) + layers * sizeof(float*));
  cudaMalloc(&values, layers * 256 * sizeof(float));
  float* weights = reinterpret_cast<float*>(arena);
  float** table = reinterpret_cast<float**>(arena + n * sizeof(float));
  for (int l = 0; l < layers; l++) host[l] = values + l * 256;
  cudaMemcpy(table, host, sizeof host, cudaMemcpyHostToDevice);
  set_weights<<<(n + 255) / 256, 256>>>(weights, n);
  apply<<<layers, 256>>>(table, weights);
  set_weights<<<(n + 255) / 256 + 1, 256>>>(weights, n + 8);
  apply<<<layers, 256>>>(table, weights);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
