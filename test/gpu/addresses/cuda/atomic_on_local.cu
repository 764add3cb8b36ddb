// A pointer to either a private or a shared counter is passed to an atomic, which local memory does not support.
__global__ void tally(int* counters, int shared_from) {
  int own = threadIdx.x;
  int* counter = int(threadIdx.x) < shared_from ? &own : &counters[threadIdx.x];
  atomicAdd(counter, 1);  // ACCESS
  counters[threadIdx.x] += own;
}

int main() {
  int* counters;
  cudaMalloc(&counters, 4096);
  cudaMemset(counters, 0, 4096);
  tally<<<1, 64>>>(counters, 0);
  tally<<<1, 64>>>(counters, 32);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
