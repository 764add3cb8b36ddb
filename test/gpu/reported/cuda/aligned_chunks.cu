// Chunks of ranks are rounded up to four floats, so each of them is aligned for wide loads.
__global__ void reduce_chunks(const float* data, int count, int chunk, float* sums) {
  const int first = blockIdx.x * chunk, end = min(first + chunk, count);
  float sum = 0;
  for (int i = first + threadIdx.x * 4; i + 3 < end; i += blockDim.x * 4) {
    float4 values = *reinterpret_cast<const float4*>(data + i);
    sum += values.x + values.y + values.z + values.w;
  }
  for (int i = end - end % 4 + threadIdx.x; i < end; i += blockDim.x) sum += data[i];
  atomicAdd(&sums[blockIdx.x], sum);
}

int main() {
  const int ranks = 4, count = (1 << 20) + 6;
  float *data, *sums;
  if (cudaMalloc(&data, count * sizeof(float)) != cudaSuccess) return 1;
  cudaMalloc(&sums, ranks * sizeof(float));
  cudaMemset(data, 0, count * sizeof(float));
  cudaMemset(sums, 0, ranks * sizeof(float));
  const int chunk = ((count + ranks - 1) / ranks + 3) / 4 * 4;
  reduce_chunks<<<ranks, 256>>>(data, count, chunk, sums);
  return cudaDeviceSynchronize() != cudaSuccess;
}
