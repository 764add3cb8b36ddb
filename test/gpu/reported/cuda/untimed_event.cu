// The time between two events, of which one was created without timing.
__global__ void work(float* x) { x[threadIdx.x] += 1; }

int main() {
  float *x, ms = 0;
  cudaMalloc(&x, 256 * sizeof(float));
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreateWithFlags(&end, cudaEventDisableTiming);
  cudaEventRecord(begin);
  work<<<1, 256>>>(x);
  cudaEventRecord(end);
  cudaEventSynchronize(end);
  return cudaEventElapsedTime(&ms, begin, end) != cudaSuccess;  // LAUNCH
}
