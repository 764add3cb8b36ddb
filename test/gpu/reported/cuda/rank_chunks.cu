// Each rank has a chunk of a buffer. Unless its size is a multiple of four floats, the next chunk is misaligned.
__global__ void reduce_chunks(const float* data, int chunk, float* sums) {
  const float4* mine = reinterpret_cast<const float4*>(data + static_cast<size_t>(blockIdx.x) * chunk);
  float sum = 0;
  for (int i = threadIdx.x; i < chunk / 4; i += blockDim.x) {
    float4 values = mine[i];  // ACCESS
    sum += values.x + values.y + values.z + values.w;
  }
  atomicAdd(&sums[blockIdx.x], sum);
}

bool run(const float* data, int count, int ranks, float* sums) {
  reduce_chunks<<<ranks, 256>>>(data, count / ranks, sums);  // LAUNCH
  return cudaDeviceSynchronize() == cudaSuccess;
}

int main() {
  const int ranks = 4, most = 4 << 20;
  float *data, *sums;
  cudaMalloc(&data, most * sizeof(float));
  cudaMalloc(&sums, ranks * sizeof(float));
  cudaMemset(data, 0, most * sizeof(float));
  cudaMemset(sums, 0, ranks * sizeof(float));
  if (!run(data, 1 << 20, ranks, sums)) return 77;
  return run(data, (1 << 20) + 4, ranks, sums) ? 0 : 1;
}
