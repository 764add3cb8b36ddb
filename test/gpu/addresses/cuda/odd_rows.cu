// Rows of 1027 floats are read four at a time: the address of row 1 is not a multiple of 16.
#define FLOAT4(value) (reinterpret_cast<const float4*>(&(value))[0])

__global__ void row_sums(const float* rows, float* sums, int width) {
  const float* row = rows + blockIdx.x * width;
  float4 part = FLOAT4(row[4 * threadIdx.x]);  // ACCESS
  atomicAdd(&sums[blockIdx.x], part.x + part.y + part.z + part.w);
}

int main() {
  const int width = 1027, count = 2;
  float *rows, *sums;
  cudaMalloc(&rows, count * width * sizeof(float));  // ALLOC
  cudaMalloc(&sums, count * sizeof(float));
  row_sums<<<count, 256>>>(rows, sums, width);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
