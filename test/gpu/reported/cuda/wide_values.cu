// Values of one byte are wider than keys of four; the kernel reads the keys with the stride of the values.
__global__ void score(const float* keys, const signed char* values, float* out, int row_stride) {
  size_t at = size_t(blockIdx.x) * row_stride + threadIdx.x;
  out[blockIdx.x * blockDim.x + threadIdx.x] = keys[at] * values[at];  // ACCESS
}

int main() {
  const int rows = 65536, key_width = 32, value_width = 3072;
  signed char* values;
  float *keys, *out;
  cudaMalloc(&values, size_t(rows) * value_width);
  cudaMalloc(&out, size_t(rows) * key_width * sizeof(float));
  cudaMalloc(&keys, size_t(rows) * key_width * sizeof(float));  // ALLOC
  score<<<rows, key_width>>>(keys, values, out, value_width);   // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
