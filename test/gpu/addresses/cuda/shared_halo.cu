// The left halo of a tile in shared memory is read before the tile begins.
__global__ void box_filter(float* line, int radius) {
  __shared__ float tile[256];
  tile[threadIdx.x] = line[threadIdx.x];
  __syncthreads();
  float sum = 0;
  for (int i = -radius; i <= 0; ++i) sum += tile[int(threadIdx.x) + i];  // ACCESS
  line[threadIdx.x] = sum;
}

int main() {
  float* line;
  cudaMalloc(&line, 4096);
  box_filter<<<1, 256>>>(line, 100'000);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
