// A null pointer means "no bias", and the kernel asks before it reads. Rows that are not aligned are read one by one.
// The program succeeds.
__device__ float value_at(const float* row, int i, bool aligned) {
  if (!aligned) return row[i];
  float4 v = reinterpret_cast<const float4*>(row)[i / 4];
  return i % 4 == 0 ? v.x : i % 4 == 1 ? v.y : i % 4 == 2 ? v.z : v.w;
}

__global__ void add_bias(const float* rows, const float* bias, float* out, int width) {
  const float* row = rows + size_t(blockIdx.x) * width;
  bool aligned = reinterpret_cast<unsigned long long>(row) % 16 == 0;
  for (int i = threadIdx.x; i < width / 4 * 4; i += blockDim.x)
    out[size_t(blockIdx.x) * width + i] = value_at(row, i, aligned) + (bias ? bias[i] : 0);
}

int main() {
  const int width = 1021, height = 4096;
  float *rows, *bias, *out;
  cudaMalloc(&rows, size_t(width) * height * sizeof(float));
  cudaMalloc(&bias, width * sizeof(float));
  cudaMalloc(&out, size_t(width) * height * sizeof(float));
  cudaMemset(rows, 0, size_t(width) * height * sizeof(float));
  cudaMemset(bias, 0, width * sizeof(float));
  for (const float* each : {static_cast<const float*>(bias), static_cast<const float*>(nullptr)})
    add_bias<<<height, 128>>>(rows, each, out, width);
  return cudaDeviceSynchronize() != cudaSuccess;
}
