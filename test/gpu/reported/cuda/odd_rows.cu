// Rows of 1021 floats are read in groups of four; only every fourth row starts on a multiple of 16 bytes.
__global__ void norms(const float* rows, int width, float* out) {
  const float4* row = reinterpret_cast<const float4*>(rows + size_t(blockIdx.x) * width);
  float sum = 0;
  for (int i = threadIdx.x; i < width / 4; i += blockDim.x) {
    float4 v = row[i];  // ACCESS
    sum += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
  }
  atomicAdd(&out[blockIdx.x], sum);
}

int main() {
  const int width = 1021, height = 4096;
  float *rows, *out;
  cudaMalloc(&rows, size_t(width) * height * sizeof(float));
  cudaMalloc(&out, height * sizeof(float));
  cudaMemset(rows, 0, size_t(width) * height * sizeof(float));
  cudaMemset(out, 0, height * sizeof(float));
  norms<<<height, 128>>>(rows, width, out);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
