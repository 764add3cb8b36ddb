// A buffer is freed at the end of a step, and the next step uses it once more.
__global__ void accumulate(float* sums, const float* batch) { sums[threadIdx.x] += batch[threadIdx.x]; }  // ACCESS

int main() {
  float *sums, *batch;
  cudaMalloc(&sums, 4096);
  cudaMalloc(&batch, 256 << 20);  // ALLOC
  accumulate<<<1, 64>>>(sums, batch);
  accumulate<<<1, 64>>>(sums, batch);
  cudaFree(batch);                     // FREED
  accumulate<<<1, 64>>>(sums, batch);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
