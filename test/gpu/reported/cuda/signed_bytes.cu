// Bytes of a text choose rows of a table: char is signed, so an accented letter gives a negative row.
__global__ void embed(const char* text, const float* table, float* out, long long width) {
  long long row = text[blockIdx.x];
  out[blockIdx.x * width + threadIdx.x] = table[row * width + threadIdx.x];  // ACCESS
}

int main() {
  const char letters[] = "caf\xe9";
  const long long width = 1 << 20;
  char* text;
  float *table, *out;
  cudaMalloc(&table, 256 * width * sizeof(float));  // ALLOC
  cudaMalloc(&text, sizeof letters);
  cudaMalloc(&out, 4 * width * sizeof(float));
  cudaMemcpy(text, letters, sizeof letters, cudaMemcpyHostToDevice);
  embed<<<4, 256>>>(text, table, out, width);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
